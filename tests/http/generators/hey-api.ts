// The client of @hey-api/openapi-ts.
import { client } from './made/hey/client.gen.js';
import { problemGet, studyBest, studyCreate, trialList, trialObserve, trialSuggest } from './made/hey/index.js';
import { run, space } from './study.js';

client.setConfig({ baseUrl: process.argv[2]!, auth: () => process.argv[3] });
const of = (study: string) => ({ path: { study } });

console.log(await run({
    async create() {
        const { data } = await studyCreate({
            body: { name: 'hey-api', seed: 7, budget: { trials: 10 }, metrics: [{ name: 'f', goal: 'minimize' }], space },
            throwOnError: true,
        });
        return data.id;
    },
    async suggest(study) {
        const { data, error } = await trialSuggest({ ...of(study), body: { worker: 'one' } });
        if (data === undefined) return { code: error.code, reason: error.reason };
        if (!('trials' in data)) throw new Error('no trials');
        const { number, point } = data.trials[0]!;
        return { number, point: point as Record<string, unknown> };
    },
    async observe(study, trial, value) {
        const { data } = await trialObserve({ ...of(study), body: { trial, value }, throwOnError: true });
        return data.accepted;
    },
    async best(study) {
        const { data } = await studyBest({ ...of(study), throwOnError: true });
        return data.trial!.value!;
    },
    async completed(study) {
        const { data } = await trialList({ ...of(study), query: { limit: 100 }, throwOnError: true });
        return data.trials.filter((trial) => trial.state === 'completed').map((trial) => trial.value!);
    },
    async cause(code) {
        const { data } = await problemGet({ path: { code }, throwOnError: true });
        return data.cause;
    },
}));
