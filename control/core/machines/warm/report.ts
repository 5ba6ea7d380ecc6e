/** What the pools have, for operators. */
import type { Store } from '../../store/store.ts'
import type { Book } from './book.ts'
import type { Circuit } from './circuit.ts'
import { anyImage } from './pool.ts'
import { poolKind } from './pool-kind.ts'
import type { WantedPool } from './wanted.ts'

export interface PoolReport {
  readonly image: string
  /** By configuration, and for what was asked for lately: the larger counts. */
  readonly configured: number
  readonly demanded: number
  /** Asleep, to be given; and those that are being made. */
  readonly ready: number
  readonly starting: number
  /** Why machines cannot be made. */
  readonly problem?: string
}

export interface WarmReport {
  /** Why no machine is made ahead, where none can be. */
  readonly obstacle?: string
  readonly pools: PoolReport[]
  /** Machines that were given, and those that had to be made because none was there, since the server started. */
  readonly claimed: number
  readonly missed: number
}

const pauseOf = ({ paused }: Pick<Circuit, 'paused'>): string | undefined =>
  paused.length > 0
    ? `none is given for ${paused.length} image${paused.length === 1 ? '' : 's'} for a while, whose root they do not get: ${paused.at(-1)}`
    : undefined

export const report = async (context: {
  readonly store: Pick<Store, 'resources'>
  readonly book: Pick<Book, 'of'>
  readonly wanted: readonly WantedPool[]
  readonly tally: Pick<WarmReport, 'claimed' | 'missed'>
  readonly obstacle: string | undefined
  readonly circuit: Pick<Circuit, 'paused'>
}): Promise<WarmReport> => {
  const { store, book, wanted, tally, obstacle, circuit } = context
  const records = new Map((await store.resources.everyOf(poolKind, () => {})).map(record => [record.name, record]))
  const pools = wanted.map(({ image, configured, demanded, problem }): PoolReport => {
    const record = records.get(image)
    const machines = record ? book.of(record.uid) : []
    const errors = machines.flatMap(machine => machine.errors.map(({ message }) => message))
    const why = problem ?? (image === anyImage ? pauseOf(circuit) : undefined) ?? errors.at(-1)
    return {
      image,
      configured,
      demanded,
      ready: machines.filter(({ status }) => status === 'standby').length,
      starting: machines.filter(({ status }) => status === 'starting' || status === 'running').length,
      ...(why === undefined ? {} : { problem: why }),
    }
  })
  return { ...(obstacle === undefined ? {} : { obstacle }), pools, ...tally }
}
