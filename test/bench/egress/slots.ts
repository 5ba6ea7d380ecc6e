/**
 * Network slots of machines that are held to a policy, in a network of their own: as many as are asked for stand there, and for each line
 * on stdin one more is made, held and removed. Answers with the milliseconds that took.
 */
import { createInterface } from 'node:readline'
import { parseNetwork } from '../../../control/base/config/ipv4.ts'
import { namesOf } from '../../../control/drivers/oci/names.ts'
import { fencesStand, raiseFences } from '../../../control/drivers/oci/net/firewall.ts'
import { makeLinks, removeLinks, slotAt } from '../../../control/drivers/oci/net/link.ts'
import { openOutbound } from '../../../control/drivers/oci/net/outbound.ts'
import { systemClock } from '../../../shared/clock.ts'
import { jsonLog } from '../../../shared/log.ts'

const batch = 40
const block = parseNetwork('10.89.0.0/20')
if (!block) throw new Error('no network')
const standing = Number(process.argv[2])
const names = namesOf(String(standing).padStart(8, '0'))
const slotOf = (index: number) => slotAt(names, block, index, undefined)
const log = jsonLog({ level: 'warn', now: Date.now, write: line => void process.stderr.write(line) })

const outbound = await openOutbound({ names, block, taken: new Map(), held: [] }, { log, clock: systemClock() })
if (!outbound) throw new Error('this kernel cannot hold machines to a policy')
const fences = {
  names,
  subnet: block,
  block,
  hostPorts: [],
  resolvers: [],
  allowed: [],
  connections: 4_096,
  datagrams: 20_000,
  outbound,
}
await raiseFences(fences)
for (let from = 0; from < standing; from += batch) {
  const slots = Array.from({ length: Math.min(batch, standing - from) }, (_, at) => slotOf(from + at))
  await makeLinks(slots)
  for (const slot of slots) await outbound.hold(slot, `machine-${slot.index}`)
}

const once = async (): Promise<number> => {
  const slot = slotOf(standing)
  const from = performance.now()
  if (!(await fencesStand(names))) throw new Error('the fences are down')
  await makeLinks([slot])
  await outbound.hold(slot, 'one-more')
  await removeLinks([slot])
  outbound.release(slot.address)
  return performance.now() - from
}

process.stdout.write('ready\n')
for await (const _line of createInterface({ input: process.stdin })) process.stdout.write(`${await once()}\n`)
