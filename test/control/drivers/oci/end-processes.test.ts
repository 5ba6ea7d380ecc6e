/** Whoever has the number of a process by now that was meant is not ended. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { endProcesses } from '../../../../control/drivers/oci/cgroup/end-processes.ts'
import { until } from '../../../support/until.ts'

const sleeper = async (t: Test): Promise<ChildProcess & { pid: number }> => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' })
  await once(child, 'spawn')
  t.teardown(() => child.kill('SIGKILL'))
  return child as ChildProcess & { pid: number }
}

/** As proc(5) has it: `S` sleeps, `Z` has ended; '' for one that is gone. */
const stateOf = (pid: number): string => {
  try {
    return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? ''
  } catch {
    return ''
  }
}

const descriptors = () => readdirSync('/proc/self/fd').length

t.test('only those are ended that are still of the group when they are held', async t => {
  const [one, other] = [await sleeper(t), await sleeper(t)]
  const ended = once(one, 'exit')
  const open = descriptors()
  await endProcesses([one.pid, other.pid], async () => [one.pid])
  t.same(await ended, [null, 'SIGKILL'])
  t.match(stateOf(other.pid), /^[RS]$/, 'the other one lives')
  t.ok(descriptors() <= open, 'and is not held any more')
  await endProcesses([one.pid], async () => [one.pid])
  t.pass('one that is gone is done')
})

t.test('also of more than are held at a time', async t => {
  const line = 'i=0; while [ $i -lt 300 ]; do sleep 600 & i=$((i + 1)); echo $!; done; echo; sleep 600'
  const shell = spawn('sh', ['-c', line], { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  // With what it has started.
  t.teardown(() => process.kill(-(shell.pid as number), 'SIGKILL'))
  let said = ''
  for await (const piece of shell.stdout.iterator({ destroyOnReturn: false })) {
    said += piece
    if (said.endsWith('\n\n')) break
  }
  const pids = said.trim().split('\n').map(Number)
  t.equal(pids.length, 300)
  await endProcesses(pids, async () => pids)
  // They end beside us.
  await until(() => pids.every(pid => ['', 'Z'].includes(stateOf(pid))), 'the end of all')
})

t.test('what fails is said, and lets go of the rest', async t => {
  const one = await sleeper(t)
  const open = descriptors()
  await t.rejects(
    endProcesses([one.pid, -5], async () => []),
    { code: 'driver_failed', message: /hold process/ },
  )
  t.ok(descriptors() <= open)
  await t.rejects(
    endProcesses([one.pid], async () => {
      throw new Error('no list')
    }),
    { message: 'no list' },
  )
  t.ok(descriptors() <= open)
  // It may be on its way back to sleep.
  t.match(stateOf(one.pid), /^[RS]$/)
})
