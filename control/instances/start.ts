/** Makes the machine of an instance, or starts it again with its files. */
import { isError, messageOf, type AppError } from '../../shared/errors.ts'
import type { Machine } from '../drivers/driver.ts'
import type { Outcome } from '../reconcile/loop.ts'
import type { MachinePlan } from '../reconcile/rules.ts'
import type { Move } from '../reconcile/transition.ts'
import { allows, errorOf, type Context, type Subject } from './context.ts'
import { remembering, withError } from './history.ts'

const maxAttempts = 3

/** What happens to the owner when it happens to its machine; where its table says nothing, it is to be as it was read. */
export const ownerMove = (context: Context, { owner }: Subject, name: string, message: string): Move =>
  allows(context, owner, name) ? { record: owner, event: { name, message } } : { expect: owner }

const giveUp = async (context: Context, subject: Subject, error: unknown): Promise<Outcome> => {
  const { transition, log, pokeOwner } = context
  const { instance, owner, driver } = subject
  log.warn('instance.failed', { instance: instance.id, owner: owner.uid, name: owner.name, error })
  await driver.remove(instance.id)
  const last = { ...instance, errors: withError(instance.errors, problem(context, error, true)) }
  await transition.write([
    {
      record: owner,
      event: { name: 'broke', message: messageOf(error) },
      change: { internal: remembering(owner, last) },
    },
    { drop: instance },
  ])
  pokeOwner(owner.uid)
  return {}
}

const problem = (context: Context, error: unknown, fatal: boolean) =>
  errorOf(context, {
    code: isError(error) ? error.code.toUpperCase() : 'INTERNAL',
    message: messageOf(error),
    fatal,
  })

/** Says in an event, once, what the record waits for. */
const waiting = async (context: Context, { owner }: Subject, error: AppError<'busy'>): Promise<Outcome> => {
  const { store, transition } = context
  const message = error.details?.what ?? error.message
  const last = (await store.resources.events(owner.uid)).at(-1)
  if (last?.message !== message && allows(context, owner, 'waiting'))
    await transition.write([{ record: owner, event: { name: 'waiting', message } }])
  return { againMs: 500 }
}

const startFailed = async (context: Context, subject: Subject, error: unknown): Promise<Outcome> => {
  const { instance, owner } = subject
  if (isError(error, 'busy')) return { againMs: 500 }
  const attempts = instance.attempts + 1
  const hopeless = isError(error) && !error.retry
  // One that has run before holds files: those are not given up because the box is not right just now.
  const mayGiveUp = instance.startedAt === undefined && allows(context, owner, 'broke')
  if (mayGiveUp && (hopeless || attempts >= maxAttempts)) return giveUp(context, subject, error)
  const errors = withError(instance.errors, problem(context, error, false))
  await context.transition.write([{ instance, change: { attempts, errors } }])
  return { againMs: Math.min(60_000, 200 * 2 ** Math.min(attempts, 16)) }
}

const started = async (context: Context, subject: Subject, plan: MachinePlan, machine: Machine): Promise<Outcome> => {
  const { clock, census, standby, transition, pokeOwner } = context
  const { instance, owner, workload, driver } = subject
  const now = clock.now()
  const { instances } = await transition.write([
    {
      instance,
      event: 'started',
      change: {
        image: plan.image,
        memoryMb: plan.spec.memoryMb,
        address: machine.address,
        startedAt: now,
        turnedAt: now,
        lastUsedAt: now,
        attempts: 0,
      },
    },
    ownerMove(context, subject, 'deployed', 'deployed'),
  ])
  census.add(driver.name, machine)
  for (const up of instances) if (up.id === instance.id) await standby.up(up, machine, workload.standbyAfterMs(owner))
  pokeOwner(owner.uid)
  return {}
}

export const start = async (context: Context, subject: Subject, signal: AbortSignal): Promise<Outcome> => {
  const { store, clock, log, channelKeys, configurer } = context
  const { instance, owner, workload, driver } = subject
  const begun = clock.elapsed()
  const others = await store.instances.ofOwner(owner.uid)
  // What its owner had there before goes first; who removes it pokes the owner, and that one us.
  if (others.some(one => one.status === 'stopping' && one.driver === instance.driver)) return {}
  let plan: MachinePlan
  let machine: Machine
  try {
    plan = await workload.plan(owner, instance)
  } catch (error) {
    return isError(error, 'busy') ? waiting(context, subject, error) : startFailed(context, subject, error)
  }
  try {
    const channel = channelKeys.forStart(instance.id)
    machine = await driver.create({ ...plan.spec, channel }, signal)
    // One that ran already was started by somebody else, who may have known another record.
    if (machine.address?.channel?.generation === channel.generation) configurer.started(instance, owner, plan)
  } catch (error) {
    if (signal.aborted) throw error
    return startFailed(context, subject, error)
  }
  const outcome = await started(context, subject, plan, machine)
  const ms = Math.round(clock.elapsed() - begun)
  log.info('instance.started', { instance: instance.id, owner: owner.uid, name: owner.name, ms })
  return outcome
}
