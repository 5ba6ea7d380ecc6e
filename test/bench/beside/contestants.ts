/** Who is asked the same: the daemon, a bare `node:http`, and a daemon as Go writes them where Go is there. */
import { startScript } from '../child.ts'
import { measuredDaemon } from '../daemon.ts'
import { goProgram } from '../go-program.ts'
import type { Bench } from '../measure.ts'

interface Contestant {
  readonly port: number
  readonly pid: number
}

export interface Contestants {
  readonly ours: Contestant
  readonly node: Contestant | undefined
  readonly go: Contestant | undefined
}

/** Starts them, all with the daemon's directory, which is answered too. */
export const startContestants = async (bench: Bench): Promise<Contestants & { readonly dir: string }> => {
  const ours = await measuredDaemon(bench)
  const { dir } = ours
  const go = await goProgram(bench, new URL('../go-files/main.go', import.meta.url), dir)
  const { pid, said: port } = await startScript<number>(bench, new URL('plain-node.ts', import.meta.url), [dir])
  return { ours, node: { pid, port }, go, dir }
}
