/** What requests leave behind that we have read ourselves is collected when they are over: V8 alone would keep it for as long as nobody asks. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { realDaemon } from '../../support/real-daemon.ts'
import { until } from '../../support/until.ts'

/** Bytes of memory that a process has written. */
const writtenBy = (pid: number): number =>
  Number(/^Anonymous:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) * 1024

t.test('a daemon that was only asked small things gives back what they took', async t => {
  const { url, pid, dir } = await realDaemon(t, { DISABLE_REQUEST_LOGGING: 'true' })
  writeFileSync(join(dir, 'work', 'a.txt'), 'x'.repeat(50_000))
  // It has collected what its start left, has looked once more six seconds later, and looks no more by itself.
  await new Promise(resolve => setTimeout(resolve, 15_000))
  for (let at = 0; at < 1_500; at++) await (await fetch(`${url}/filesystem/a.txt`)).arrayBuffer()
  const after = writtenBy(pid)
  await until(async () => writtenBy(pid) < after - 4 * 1024 * 1024, 'it to give back four megabytes')
  t.pass(`from ${after}`)
})
