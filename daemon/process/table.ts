import { fail } from '../../shared/errors.ts'
import type { Managed } from './managed.ts'
import type { ProcessRecord } from './record.ts'

/** All processes that are known, finished ones included. */
export interface Table {
  readonly size: number
  readonly running: number
  all(): Iterable<Managed>
  records(): ProcessRecord[]
  add(managed: Managed): void
  remove(managed: Managed): void
  byName(name: string): Managed | undefined
  /** An integer is always a pid; anything else is a name, and the latest start counts. Throws `not_found`. */
  find(identifier: string): Managed
  nextId(): number
}

export const createTable = (): Table => {
  const all = new Set<Managed>()
  const byPid = new Map<number, Managed>()
  const byName = new Map<string, Managed>()
  let last = 0
  return {
    get size() {
      return all.size
    },
    get running() {
      let count = 0
      for (const { record } of all) if (record.status === 'running') count++
      return count
    },
    all: () => all,
    records: () => Array.from(all, ({ record }) => record),
    add(managed) {
      const { id, pid, name } = managed.record
      last = Math.max(last, id)
      all.add(managed)
      byPid.set(pid, managed)
      byName.set(name, managed)
    },
    remove(managed) {
      const { pid, name } = managed.record
      all.delete(managed)
      if (byPid.get(pid) === managed) byPid.delete(pid)
      if (byName.get(name) === managed) byName.delete(name)
    },
    byName: name => byName.get(name),
    find(identifier) {
      const found = /^[+-]?\d+$/.test(identifier) ? byPid.get(Number(identifier)) : byName.get(identifier)
      if (!found) throw fail('not_found', { kind: 'process', name: identifier })
      return found
    },
    nextId: () => ++last,
  }
}
