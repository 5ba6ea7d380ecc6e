/** What every store must show. `open` gives an empty one, closed by the suite. */
import type { Test } from 'tap'
import type { Store } from '../../control/store/store.ts'
import { listingSuite } from './store/listing.ts'
import { meterSuite } from './store/meter.ts'
import { resourcesSuite } from './store/resources.ts'
import { tenantsSuite } from './store/tenants.ts'
import { usageSuite } from './store/usage.ts'

export type Open = (t: Test) => Promise<Store>

export const storeSuite = async (t: Test, open: Open): Promise<void> => {
  await tenantsSuite(t, open)
  await resourcesSuite(t, open)
  await listingSuite(t, open)
  await meterSuite(t, open)
  await usageSuite(t, open)
}
