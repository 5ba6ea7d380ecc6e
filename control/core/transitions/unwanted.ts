import type { Instance, Resource } from '../store/store.ts'
import type { Wanted, Workload } from './rules.ts'

/** Instances that a record should have no more: of revisions that it does not want, and the newest beyond their number. */
export const unwantedOf = (owner: Resource, instances: readonly Instance[], workload: Workload): Instance[] => {
  const staying = instances.filter(({ status }) => status !== 'stopping')
  const kept = new Set(
    workload
      .wanted(owner)
      .flatMap(({ revision, count }) => staying.filter(instance => instance.revision === revision).slice(0, count)),
  )
  return staying.filter(instance => !kept.has(instance))
}

/** Machines that the record lacks, of each revision that it wants. */
export const lackingOf = (owner: Resource, instances: readonly Instance[], workload: Workload): readonly Wanted[] =>
  workload.wanted(owner).flatMap(({ revision, count }) => {
    const has = instances.filter(one => one.status !== 'stopping' && one.revision === revision).length
    return count > has ? [{ revision, count: count - has }] : []
  })
