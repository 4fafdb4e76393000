// A whole study, by whatever client: the same calls of each generated one.
declare global {
    const process: { argv: string[] };
}

export interface Trial {
    number: number;
    point: Record<string, unknown>;
}
export interface Client {
    create(): Promise<string>;
    suggest(study: string): Promise<Trial | { code: string; reason: string | undefined }>;
    observe(study: string, trial: number, value: number): Promise<number>; // how many were accepted
    best(study: string): Promise<number>;
    completed(study: string): Promise<number[]>;
    cause(code: string): Promise<string>;
}

export const space = {
    type: 'parameters' as const,
    parameters: [
        { type: 'double' as const, name: 'x', min: -5, max: 10 },
        { type: 'int' as const, name: 'n', min: 1, max: 9 },
        { type: 'categorical' as const, name: 'kind', values: ['good', 'bad'] },
    ],
};

function must(condition: boolean, what: string): asserts condition {
    if (!condition) throw new Error(what);
}

export async function run(client: Client): Promise<string> {
    const study = await client.create();
    let least = Infinity, trials = 0;
    for (;;) {
        const next = await client.suggest(study);
        if ('code' in next) {
            must(next.code === 'study_completed' && next.reason === 'budget_exhausted', `${next.code} ${next.reason}`);
            must((await client.cause(next.code)).length > 10, 'no cause');
            break;
        }
        const { x, n, kind } = next.point;
        must(typeof x === 'number' && typeof n === 'number' && (kind === 'good' || kind === 'bad'), JSON.stringify(next.point));
        const value = (x - 2.5) ** 2 + (n - 4) ** 2 + (kind === 'good' ? 0 : 5);
        must((await client.observe(study, next.number, value)) === 1, 'not accepted');
        least = Math.min(least, value);
        trials++;
    }
    const values = await client.completed(study);
    must(trials === 10 && values.length === 10, `${trials} trials, ${values.length} completed`);
    must((await client.best(study)) === least && Math.min(...values) === least, 'another best');
    return `${trials} trials, best ${least.toPrecision(3)}`;
}
