/** Taking samples. What is compared is sampled in turns, so that whatever else the machine does falls on both. */

/** Where a benchmark says what it does, leaves what must be undone, and names what it cannot measure here. */
export interface Bench {
  /** Progress, for whoever waits. */
  say(line: string): void
  /** Runs when the benchmark ends, however it ends; the newest first. */
  later(name: string, undo: () => unknown): void
  /** A figure this machine cannot give, and what it lacks. */
  skip(name: string, reason: string): void
}

/** Milliseconds `task` takes. */
export const timeOf = async (task: () => Promise<unknown>): Promise<number> => {
  const from = performance.now()
  await task()
  return performance.now() - from
}

/** Milliseconds of each of `count` runs. */
export const times = async (count: number, task: (index: number) => Promise<unknown>): Promise<number[]> => {
  const samples: number[] = []
  for (let index = 0; index < count; index++) samples.push(await timeOf(() => task(index)))
  return samples
}

/** `rounds` samples of each task, by turns; a task returns what it measured. */
export const inTurns = async <Name extends string>(
  rounds: number,
  tasks: Readonly<Record<Name, (round: number) => Promise<number>>>,
): Promise<Record<Name, number[]>> => {
  const names = Object.keys(tasks) as Name[]
  const samples = Object.fromEntries(names.map(name => [name, [] as number[]])) as Record<Name, number[]>
  for (let round = 0; round < rounds; round++)
    // Each goes first as often as the others: the first of a round finds what the last one left behind.
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + turn) % names.length] as Name
      samples[name].push(await tasks[name](round))
    }
  return samples
}
