// The client of swagger-typescript-api.
import { Api, type HttpResponse, type Problem, type SuggestReply } from './made/Api.js';
import { run, space } from './study.js';

const { v1, problems } = new Api({ baseUrl: process.argv[2]!, baseApiParams: { headers: { Authorization: `Bearer ${process.argv[3]}` } } });

console.log(await run({
    async create() {
        const { data } = await v1.studyCreate({
            name: 'swagger-typescript-api', seed: 7, budget: { trials: 10 }, metrics: [{ name: 'f', goal: 'minimize' }], space,
        });
        return data.id;
    },
    async suggest(study) {
        try {
            const { data } = await v1.trialSuggest(study, { worker: 'one' });
            const { number, point } = (data as SuggestReply).trials[0]!;
            return { number, point: point as Record<string, unknown> };
        } catch (refusal) {
            const { error } = refusal as HttpResponse<unknown, Problem>;
            return { code: error.code, reason: error.reason };
        }
    },
    async observe(study, trial, value) {
        return (await v1.trialObserve(study, { trial, value })).data.accepted;
    },
    async best(study) {
        return (await v1.studyBest(study)).data.trial!.value!;
    },
    async completed(study) {
        const { data } = await v1.trialList(study, { limit: 100 });
        return data.trials.filter((trial) => trial.state === 'completed').map((trial) => trial.value!);
    },
    async cause(code) {
        return (await problems.problemGet(code)).data.cause;
    },
}));
