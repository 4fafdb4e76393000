// The types of openapi-typescript, with its companion openapi-fetch.
import createClient from 'openapi-fetch';
import type { paths } from './made/types.js';
import { run, space } from './study.js';

const client = createClient<paths>({ baseUrl: process.argv[2]!, headers: { Authorization: `Bearer ${process.argv[3]}` } });
const of = (study: string) => ({ path: { study } });

console.log(await run({
    async create() {
        const { data } = await client.POST('/v1/studies', {
            body: { name: 'openapi-typescript', seed: 7, budget: { trials: 10 }, metrics: [{ name: 'f', goal: 'minimize' }], space },
        });
        return data!.id;
    },
    async suggest(study) {
        const { data, error } = await client.POST('/v1/studies/{study}/suggest', { params: of(study), body: { worker: 'one' } });
        if (data === undefined) return { code: error.code, reason: error.reason };
        if (!('trials' in data)) throw new Error('no trials');
        const { number, point } = data.trials[0]!;
        return { number, point: point as Record<string, unknown> };
    },
    async observe(study, trial, value) {
        const { data } = await client.POST('/v1/studies/{study}/observe', { params: of(study), body: { trial, value } });
        return data!.accepted;
    },
    async best(study) {
        const { data } = await client.GET('/v1/studies/{study}/best', { params: of(study) });
        return data!.trial!.value!;
    },
    async completed(study) {
        const { data } = await client.GET('/v1/studies/{study}/trials', { params: { ...of(study), query: { limit: 100 } } });
        return data!.trials.filter((trial) => trial.state === 'completed').map((trial) => trial.value!);
    },
    async cause(code) {
        const { data } = await client.GET('/problems/{code}', { params: { path: { code } } });
        return data!.cause;
    },
}));
