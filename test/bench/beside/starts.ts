/** From nothing to the first answers, beside an empty Node: the first of everything finds code that nobody has run. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { measuredDaemon, type MeasuredDaemon } from '../daemon.ts'
import { inTurns, timeOf, type Bench } from '../measure.ts'
import { percentile, row, type Row } from '../report.ts'

const rounds = 7

const emptyNode = async (): Promise<void> => {
  await once(spawn(process.execPath, ['-e', ''], { stdio: 'ignore' }), 'exit')
}

const ask = async (url: string, method = 'GET', body?: object): Promise<void> => {
  const answer = await fetch(url, { method, ...(body && { body: JSON.stringify(body) }) })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${text}`)
}

type First = (daemon: MeasuredDaemon) => Promise<void>

const firstExec: First = ({ url }) => ask(`${url}/process`, 'POST', { command: 'true', waitForCompletion: true })
const firstWrite: First = ({ url }) => ask(`${url}/filesystem/first.txt`, 'PUT', { content: 'hello' })
const firstRead: First = ({ url, dir }) => ask(`${url}/filesystem/${encodeURIComponent(dir)}/`)

export const starts = async (bench: Bench): Promise<Row[]> => {
  const firsts: Record<'exec' | 'write' | 'read', number[]> = { exec: [], write: [], read: [] }
  const started = (name: keyof typeof firsts, first: First) => async () => {
    let daemon: MeasuredDaemon | undefined
    const start = await timeOf(async () => {
      daemon = await measuredDaemon(bench)
    })
    const answered = await timeOf(() => first(daemon as MeasuredDaemon))
    process.kill((daemon as MeasuredDaemon).pid, 'SIGKILL')
    firsts[name].push(answered)
    return start + answered
  }
  // Fetch itself is warm by now: the others have used it.
  const times = await inTurns(rounds, {
    node: () => timeOf(emptyNode),
    exec: started('exec', firstExec),
    write: started('write', firstWrite),
    read: started('read', firstRead),
  })
  const middle = (samples: readonly number[]) => percentile(samples, 0.5)
  return [
    row('beside.start-to-first-exec', middle(times.exec), 'ms', middle(times.node)),
    row('beside.start-to-first-exec.above-node', middle(times.exec) - middle(times.node), 'ms'),
    row('beside.first-exec', middle(firsts.exec), 'ms'),
    row('beside.first-write', middle(firsts.write), 'ms'),
    row('beside.first-read', middle(firsts.read), 'ms'),
  ]
}
