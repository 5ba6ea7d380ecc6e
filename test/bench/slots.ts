/** What one more machine with an outbound policy costs the network of a box that has ten of them, and of one that has a thousand. */
import { createInterface } from 'node:readline'
import { start } from './child.ts'
import { inTurns, type Bench } from './measure.ts'
import { percentile, row, type Row } from './report.ts'

const rounds = 40
const script = new URL('egress/slots.ts', import.meta.url).pathname
/** With links, namespaces and a firewall of its own: all of it goes with the last process. */
const ownNetwork =
  'mount -t tmpfs none /run && mkdir -p /run/netns && mount -t sysfs none /sys && ip link set lo up && exec "$@"'

/** A network in which so many stand; makes one more when it is called, and answers with the milliseconds that took. */
const openSlots = async (bench: Bench, standing: number): Promise<() => Promise<number>> => {
  const args = ['--net', '--mount', 'sh', '-c', ownNetwork, 'sh', process.execPath, script, String(standing)]
  const child = start(bench, 'unshare', args, { stdio: ['pipe', 'pipe', 'inherit'], signal: 'SIGTERM' })
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new Error('no pipes')
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`${script} ended with ${child.exitCode}`)
    return value
  }
  await next()
  return async () => {
    stdin.write('one more\n')
    return Number(await next())
  }
}

export const slotsBench = async (bench: Bench): Promise<Row[]> => {
  if (process.getuid?.() !== 0) {
    bench.skip('egress.slots', 'needs root')
    return []
  }
  bench.say('network slots beside ten and beside a thousand')
  const many = await openSlots(bench, 1_000)
  const few = await openSlots(bench, 10)
  await inTurns(2, { many, few })
  const took = await inTurns(rounds, { many, few })
  return [row('egress.slots-1000.make', percentile(took.many, 0.5), 'ms', percentile(took.few, 0.5))]
}
