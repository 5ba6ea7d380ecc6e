/** Keeps the status of models: looks at a model when it, or the connection that it names, has changed, and tries again what may pass. */
import type { Clock } from '../../../shared/clock.ts'
import type { Closing } from '../../../shared/closing.ts'
import { isError, messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { Transition } from '../transitions/transition.ts'
import type { Resource, Store, Written } from '../store/store.ts'
import { probe, type Verdict } from './probe.ts'
import type { Reach } from './reach.ts'
import type { Routes } from './routes.ts'

/** What may pass is tried again this often. */
const againMs = 30_000

/** Models that are looked at side by side. */
const mostAtOnce = 4

/** Models of one connection that are looked at when it changes. */
const mostOfOne = 1_000

const kind = 'model'

const isLookedAt = ({ status }: Resource): boolean => ['DEPLOYING', 'DEPLOYED', 'FAILED'].includes(status)

interface Deps {
  readonly store: Pick<Store, 'resources'>
  readonly transition: () => Pick<Transition, 'write'>
  readonly routes: Pick<Routes, 'ofRecord'>
  readonly kinds: { readonly connection: string }
  readonly reach: Reach
  readonly clock: Clock
  readonly log: Log
}

export class Deployer {
  readonly #deps: Deps
  readonly #queue = new Set<string>()
  readonly #passing = new Set<string>()
  #running = 0
  #isClosed = false

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** To be told of everything that is written. */
  written({ resources }: Pick<Written, 'resources'>): void {
    const { log, kinds } = this.#deps
    this.#lookAt(resources.flatMap(one => (one.kind === kind && one.status === 'DEPLOYING' ? [one.uid] : [])))
    for (const connection of resources.filter(one => one.kind === kinds.connection))
      this.#ofConnection(connection).catch((error: unknown) =>
        log.warn('models.connection', { connection: connection.name, reason: messageOf(error), error }),
      )
  }

  /** Looks at what an earlier start has left. */
  async start(): Promise<void> {
    const all = await this.#deps.store.resources.everyOf(kind, () => {
      // `hutch doctor` tells of records that cannot be read.
    })
    this.#lookAt(all.flatMap(one => (['DEPLOYING', 'FAILED'].includes(one.status) ? [one.uid] : [])))
  }

  again(): void {
    this.#lookAt(this.#passing)
  }

  close(): void {
    this.#isClosed = true
  }

  #lookAt(uids: Iterable<string>): void {
    for (const uid of uids) this.#queue.add(uid)
    this.#next()
  }

  async #ofConnection(connection: Resource): Promise<void> {
    const users = await this.#deps.store.resources.usages(connection, mostOfOne)
    this.#lookAt(users.flatMap(user => (user.kind === kind ? [user.uid] : [])))
  }

  #next(): void {
    for (const uid of this.#queue) {
      if (this.#running >= mostAtOnce || this.#isClosed) return
      this.#queue.delete(uid)
      this.#running++
      this.#look(uid)
        .catch((error: unknown) => this.#failed(uid, error))
        .finally(() => {
          this.#running--
          this.#next()
        })
    }
  }

  #failed(uid: string, error: unknown): void {
    // Whoever has changed it meanwhile has written what it is looked at for.
    if (isError(error, 'changed_meanwhile') || isError(error, 'wrong_state')) this.#queue.add(uid)
    else {
      this.#passing.add(uid)
      this.#deps.log.warn('models.look', { uid, reason: messageOf(error), error })
    }
  }

  async #verdictOn(record: Resource): Promise<Verdict> {
    const { routes, reach } = this.#deps
    try {
      return await probe(await routes.ofRecord(record), reach)
    } catch (error) {
      if (isError(error)) return { isUsable: false, message: messageOf(error), isPassing: error.retry }
      throw error
    }
  }

  async #look(uid: string): Promise<void> {
    const { store, transition } = this.#deps
    const record = await store.resources.getByUid(uid)
    if (!record || !isLookedAt(record)) return void this.#passing.delete(uid)
    const { isUsable, message, isPassing } = await this.#verdictOn(record)
    if (this.#isClosed) return
    if (isPassing) this.#passing.add(uid)
    else this.#passing.delete(uid)
    const last = (await store.resources.events(uid)).at(-1)
    const status = isUsable ? 'DEPLOYED' : 'FAILED'
    if (record.status === status && last?.message === message) return
    await transition().write([{ record, event: { name: isUsable ? 'deployed' : 'broke', message } }])
  }
}

export const openDeployer = (deps: Deps, closer: Closing): Deployer => {
  const deployer = new Deployer(deps)
  const stop = deps.clock.every(againMs, () => deployer.again())
  closer.add('models', () => {
    deployer.close()
    stop()
  })
  return deployer
}
