import type { Instance, Resource } from '../store/store.ts'
import type { Workload } from './rules.ts'

/** Instances that a record should have no more: of another revision than it wants, and the newest beyond their number. */
export const unwantedOf = (owner: Resource, instances: readonly Instance[], workload: Workload): Instance[] => {
  const revision = workload.revision(owner)
  const wanted = workload.instances(owner)
  const staying = instances.filter(({ status }) => status !== 'stopping')
  const right = staying.filter(instance => instance.revision === revision)
  const kept = new Set(right.slice(0, wanted))
  return staying.filter(instance => !kept.has(instance))
}
