/** Brings one sandbox's machine to what its record says, a step at a time. */
import type { Clock } from '../../shared/clock.ts'
import { isError, messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Driver, Machine, MachineSpec } from '../drivers/driver.ts'
import type { Resource, Store } from '../store/store.ts'
import { expiryOf, retentionMs } from '../sandbox/expiry.ts'
import type { Outcome, Reconcile } from '../reconcile/loop.ts'
import { internalOf, runningRates, type InfrastructureError, type Records, type SandboxInternal } from './record.ts'

/** Fills in what a machine is made from; throws `invalid_argument` when the image is unknown. */
export type Plan = (row: Resource) => Promise<{ spec: MachineSpec; image: { digest: string; rootfs: string } }>

export interface SandboxReconcilerDeps {
  readonly store: Store
  readonly driver: Driver
  readonly clock: Clock
  readonly log: Log
  readonly records: Records
  readonly plan: Plan
  /** The machine as last listed from the box, looked at once after start-up. */
  readonly found: (uid: string) => Machine | undefined
  /** Called when a sandbox has come up or is no more, for those who count its use. */
  readonly onUp: (row: Resource, machine: Machine) => Promise<void>
  readonly onDown: (uid: string) => void
}

const maxAttempts = 3
/** Timers hold at most 2^31-1 ms; looking once an hour is enough for anything further away. */
const longestWaitMs = 3_600_000

const withError = (row: Resource, error: InfrastructureError): SandboxInternal => ({
  errors: [...(internalOf(row).errors ?? []), error].slice(-20),
})

export const sandboxReconciler = (deps: SandboxReconcilerDeps): Reconcile => {
  const { store, driver, clock, log, records, plan, found, onUp, onDown } = deps

  const problem = (error: unknown, fatal: boolean): InfrastructureError => ({
    code: isError(error) ? error.code.toUpperCase() : 'INTERNAL',
    message: messageOf(error),
    time: new Date(clock.now()).toISOString(),
    fatal,
  })

  const expire = async (row: Resource): Promise<Outcome | undefined> => {
    const expiry = expiryOf(row)
    if (!expiry) return undefined
    const left = expiry.at - clock.now()
    if (left > 0) return { againMs: Math.min(left, longestWaitMs) }
    await records.move(row, 'delete', `expired: ${expiry.rule}`, { rates: [] })
    return { againMs: 0 }
  }

  const deployFailed = async (row: Resource, error: unknown): Promise<Outcome> => {
    const attempts = (internalOf(row).attempts ?? 0) + 1
    const hopeless = isError(error) && !error.retry
    if (isError(error, 'busy')) return { againMs: 500 }
    // One that has run before holds files: those are not given up because the box is not right just now.
    const hasFiles = internalOf(row).turnedAt !== undefined && !internalOf(row).remake
    if ((!hopeless && attempts < maxAttempts) || hasFiles) {
      await records.note(row, { attempts, ...withError(row, problem(error, false)) })
      return { againMs: Math.min(60_000, 200 * 2 ** attempts) }
    }
    log.warn('sandbox.failed', { sandbox: row.uid, name: row.name, attempts, error })
    await driver.remove(row.uid)
    await records.move(row, 'broke', messageOf(error), {
      internal: { attempts: 0, ...withError(row, problem(error, true)) },
      rates: [],
    })
    return { againMs: 0 }
  }

  const deploy = async (row: Resource, signal: AbortSignal): Promise<Outcome> => {
    const start = clock.elapsed()
    let machine: Machine
    let planned: Awaited<ReturnType<Plan>>
    try {
      planned = await plan(row)
      if (internalOf(row).remake) {
        onDown(row.uid)
        await driver.remove(row.uid)
      }
      machine = await driver.create(planned.spec, signal)
    } catch (error) {
      if (signal.aborted) throw error
      return deployFailed(row, error)
    }
    const now = clock.now()
    const up = await records.move(row, 'deployed', 'deployed', {
      internal: {
        state: 'RUNNING',
        image: planned.image,
        turnedAt: now,
        lastUsedAt: now,
        attempts: 0,
        remake: false,
        ...(machine.address ? { address: machine.address } : {}),
      },
      rates: runningRates(planned.spec.memoryMb),
    })
    log.info('sandbox.deployed', { sandbox: row.uid, name: row.name, ms: Math.round(clock.elapsed() - start) })
    await onUp(up, machine)
    return (await expire(up)) ?? { againMs: longestWaitMs }
  }

  const lost = async (row: Resource): Promise<Outcome> => {
    const error: InfrastructureError = {
      code: 'MACHINE_LOST',
      message: 'the machine ended; it is started again with its files, its processes are gone',
      time: new Date(clock.now()).toISOString(),
      fatal: false,
    }
    log.warn('sandbox.lost', { sandbox: row.uid, name: row.name })
    onDown(row.uid)
    // When it ended nobody saw; it is billed up to the last moment it was known to run, not for the time we were away.
    await store.meter.closeStale([row.uid], clock.now())
    await records.move(row, 'lost', error.message, { internal: withError(row, error), rates: [] })
    return { againMs: 0 }
  }

  const watch = async (row: Resource): Promise<Outcome | undefined> => {
    const machine = found(row.uid)
    if (!machine || machine.phase === 'stopped' || machine.phase === 'half-made') return lost(row)
    const kept = internalOf(row).address
    if (machine.address && (machine.address.host !== kept?.host || machine.address.port !== kept?.port))
      await records.note(row, { address: machine.address })
    await onUp(row, machine)
    return expire((await store.resources.getByUid(row.uid)) ?? row)
  }

  const end = async (row: Resource): Promise<Outcome> => {
    onDown(row.uid)
    await driver.remove(row.uid)
    await records.move(row, 'gone', 'everything it held on the box is given back', {
      internal: { terminatedAt: clock.now() },
      rates: [],
    })
    log.info('sandbox.deleted', { sandbox: row.uid, name: row.name })
    return { againMs: 0 }
  }

  const forget = async (row: Resource): Promise<Outcome | undefined> => {
    const left = (internalOf(row).terminatedAt ?? row.updatedAt) + retentionMs(row) - clock.now()
    if (left > 0) return { againMs: Math.min(left, longestWaitMs) }
    await store.resources.remove(row.uid, clock.now())
    return undefined
  }

  const disable = async (row: Resource): Promise<Outcome | undefined> => {
    onDown(row.uid)
    await driver.remove(row.uid)
    return expire(await records.move(row, 'disabled', 'disabled: it holds nothing on the box', { rates: [] }))
  }

  return async (uid, signal) => {
    const row = await store.resources.getByUid(uid)
    if (!row) {
      onDown(uid)
      await driver.remove(uid)
      return undefined
    }
    switch (row.status) {
      case 'DEPLOYING':
        return deploy(row, signal)
      case 'DEPLOYED':
        return watch(row)
      case 'DEACTIVATING':
        return disable(row)
      case 'DELETING':
        return end(row)
      case 'TERMINATED':
        return forget(row)
      case 'FAILED':
      case 'DEACTIVATED':
        return expire(row)
      default:
        throw new Error(`sandbox ${uid} has the unknown status ${row.status}`)
    }
  }
}
