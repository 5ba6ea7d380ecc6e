/** Sees to it that an instance that is up has its machine. */
import { isDeepStrictEqual } from 'node:util'
import type { Outcome } from '../transitions/loop.ts'
import { errorOf, ownerMove, takeDown, type Context, type Subject } from './context.ts'
import { withError } from './history.ts'

const lost = async (context: Context, subject: Subject): Promise<Outcome> => {
  const { transition, log } = context
  const { instance, owner } = subject
  const message = 'the machine ended; it is started again with its files, its processes are gone'
  const error = errorOf(context, { code: 'MACHINE_LOST', message, fatal: false })
  log.warn('instance.lost', { instance: instance.id, owner: owner.uid, name: owner.name })
  takeDown(context, instance.id)
  // When it ended nobody saw; it is billed up to the last moment it was known to run, not for the time we were away.
  await transition.write([
    { instance, event: 'lost', change: { errors: withError(instance.errors, error) } },
    ownerMove(context, subject, 'lost', message),
  ])
  return { againMs: 0 }
}

const rootGone = 'ROOT_GONE'

/** Said once for each start of the machine; whether it was said now. */
const noteRootGone = async (context: Context, { instance, owner }: Subject): Promise<boolean> => {
  const { transition, log } = context
  const since = instance.startedAt ?? instance.createdAt
  if (instance.errors.some(({ code, time }) => code === rootGone && Date.parse(time) >= since)) return false
  const message =
    'the files of its image are gone from the box: most of its root is missing; make the image again, then restart it'
  log.warn('instance.root-gone', { instance: instance.id, owner: owner.uid, name: owner.name })
  const errors = withError(instance.errors, errorOf(context, { code: rootGone, message, fatal: false }))
  await transition.write([{ instance, change: { errors } }])
  return true
}

export const watch = async (context: Context, subject: Subject): Promise<Outcome | undefined> => {
  const { census, standby, transition, configurer, pokeConfiguration } = context
  const { instance, owner, workload } = subject
  const machine = census.found(instance.id)
  if (!machine || machine.phase === 'stopped' || machine.phase === 'half-made') return lost(context, subject)
  if (machine.rootGone && (await noteRootGone(context, subject))) return { againMs: 0 }
  const { address } = machine
  const known = instance.address
  if (address && !isDeepStrictEqual(address, known)) await transition.write([{ instance, change: { address } }])
  await standby.up(instance, machine, workload.standby(owner, instance))
  if (configurer.isDue(instance)) pokeConfiguration(instance.id)
  return undefined
}
