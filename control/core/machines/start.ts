/** Makes the machine of an instance, or starts it again with its files. */
import { setImmediate as turnOver } from 'node:timers/promises'
import { fail, isError } from '../../../shared/errors.ts'
import type { Machine } from '../../drivers/driver.ts'
import type { Outcome } from '../transitions/loop.ts'
import type { MachinePlan } from '../transitions/rules.ts'
import { ownerMove, takeDown, type Context, type Subject } from './context.ts'
import { inRemovalTurn, type Place } from './removals.ts'
import { startFailed, waiting } from './start-failed.ts'

interface Made {
  readonly subject: Subject
  readonly plan: MachinePlan
  readonly machine: Machine
}

const started = async (context: Context, { subject, plan, machine }: Made): Promise<Outcome> => {
  const { clock, census, standby, transition, pokeOwner, expectUse } = context
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
        claimed: undefined,
      },
    },
    // What it means for a record that settles by itself is found out when that is looked at, next.
    workload.settle ? { expect: owner } : ownerMove(context, subject, 'deployed', 'deployed'),
  ])
  census.add(driver.name, machine)
  // Before it sleeps: whoever is given it, whenever that is, finds the way to its daemon open.
  if (plan.spec.anonymous && machine.address) expectUse?.(machine.address, Infinity)
  for (const up of instances)
    if (up.id === instance.id) await standby.up(up, machine, workload.standby(owner, instance))
  // Whoever waited for it goes first.
  await turnOver()
  pokeOwner(owner.uid)
  return {}
}

/** Who has asked for a machine speaks to it by then, or is served no worse than others. */
const soonMs = 10_000

/** A machine that was made for nobody becomes what the plan says. */
const become = async (context: Context, { instance, driver }: Subject, { spec }: MachinePlan): Promise<Machine> => {
  const { standby, claimDaemon, expectUse } = context
  // What is known of its sleep is of its time before.
  standby.down(instance.id)
  if (!driver.claimer || !instance.address)
    throw fail('driver_failed', { driver: driver.name, step: 'claim', reason: 'it cannot' })
  expectUse?.(instance.address, soonMs)
  return driver.claimer.claim(spec, async ({ address }) => {
    if (address) await claimDaemon(address, spec)
  })
}

/** It did not become its owner's, or the host died before that was known: it goes, and a new one takes its place. */
const unclaim = async (context: Context, subject: Subject, error: unknown): Promise<Subject> => {
  const { transition, log } = context
  const { instance, driver } = subject
  log.warn('instance.unclaimed', { instance: instance.id, owner: subject.owner.uid, error })
  takeDown(context, instance.id)
  await driver.remove(instance.id)
  const change = { claimed: undefined, address: undefined }
  const { instances } = await transition.write([{ instance, change }])
  return { ...subject, instance: instances[0] ?? instance }
}

/** What one attempt to start a machine leaves to the next, when somebody has written its record meanwhile. */
export interface Attempts {
  /** It has become its owner's, which it does once. */
  claimed?: Machine
}

/** It leaves its place when nothing but its daemon is waited for, which may never come up, and when it is given up. */
interface Trying extends Place {
  readonly attempts: Attempts
}

const make = async (
  context: Context,
  { subject: given, plan }: Omit<Made, 'machine'>,
  { attempts, signal, leave }: Trying,
): Promise<Made> => {
  const { channelKeys, configurer, spare } = context
  let subject = given
  if (subject.instance.claimed)
    try {
      if (attempts.claimed) return { subject, plan, machine: attempts.claimed }
      const machine = await become(context, subject, plan)
      attempts.claimed = machine
      spare?.became(subject.instance.id)
      configurer.started(subject.instance, subject.owner, plan)
      return { subject, plan, machine }
    } catch (error) {
      spare?.became(subject.instance.id, error)
      subject = await unclaim(context, subject, error)
    }
  const { instance, owner, driver } = subject
  if (plan.files !== undefined && instance.startedAt === undefined) {
    // Copying them takes as long as there is of them.
    leave()
    if (!driver.snapshotter) throw fail('not_available', { what: 'snapshots' })
    await driver.snapshotter.mount(plan.files, instance.id, signal)
  }
  const channel = channelKeys.forStart(instance.id)
  const machine = await driver.create({ ...plan.spec, channel }, signal, leave)
  // One that ran already was started by somebody else, who may have known another record.
  if (machine.address?.channel?.generation === channel.generation) configurer.started(instance, owner, plan)
  return { subject, plan, machine }
}

/** What runs in it may take its time: nobody else waits for that. One that is not ready in time is ended, so that the next attempt starts it anew. */
const untilReady = async (context: Context, { subject, machine }: Made, trying: Trying): Promise<void> => {
  const { owner, instance, workload, driver } = subject
  const { signal, leave } = trying
  if (!workload.ready || !machine.address) return
  leave()
  try {
    await workload.ready({ owner, instance, address: machine.address, signal })
  } catch (error) {
    if (!signal.aborted) await inRemovalTurn(context, trying, () => driver.end(instance.id, signal))
    throw error
  }
}

export const start = async (context: Context, subject: Subject, trying: Trying): Promise<Outcome> => {
  const { store, clock, log, observer } = context
  const { instance, owner, workload } = subject
  const begun = clock.elapsed()
  const others = await store.instances.ofOwner(owner.uid)
  // What its owner had there before goes first, unless it has several; who removes it pokes the owner, and that one us.
  if (!workload.settle && others.some(one => one.status === 'stopping' && one.driver === instance.driver)) return {}
  let plan: MachinePlan
  let made: Made
  try {
    plan = await workload.plan(owner, instance)
  } catch (error) {
    return isError(error, 'busy')
      ? waiting(context, subject, error.details?.what ?? error.message, 500)
      : startFailed(context, { subject, place: trying, error })
  }
  try {
    made = await make(context, { subject, plan }, trying)
    await untilReady(context, made, trying)
  } catch (error) {
    if (trying.signal.aborted || isError(error, 'changed_meanwhile')) throw error
    return startFailed(context, { subject, place: trying, error })
  }
  const outcome = await started(context, made)
  const ms = Math.round(clock.elapsed() - begun)
  const claimed = made.subject.instance.claimed ?? false
  const isFirst = instance.startedAt === undefined
  observer.started(claimed ? 'claim' : isFirst ? 'create' : 'restart', isFirst ? clock.now() - instance.createdAt : ms)
  log.info('instance.started', { instance: instance.id, owner: owner.uid, name: owner.name, ms, claimed })
  return outcome
}
