/** Whether all that the database holds can be read: a server goes on without what cannot, and says so in its log alone. */
import type { Finding } from '../../drivers/driver.ts'
import type { Upkeep } from '../../core/store/store.ts'

export const recordFindings = async ({ upkeep }: { upkeep: Pick<Upkeep, 'unreadable'> }): Promise<Finding[]> => {
  const unreadable = await upkeep.unreadable()
  const next = 'it is left as it is, and what is held to its policy reaches nothing'
  if (unreadable.length > 0) return unreadable.map(what => ({ ok: false, what, next }))
  return [{ ok: true, what: 'every row can be read' }]
}
