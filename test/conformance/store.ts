/** What every store must show. `open` gives an empty one, closed by the suite. */
import type { Test } from 'tap'
import type { WritableStore } from '../../control/core/store/store.ts'
import { belongingsSuite } from './store/belongings.ts'
import { instancesSuite } from './store/instances.ts'
import { listingSuite } from './store/listing.ts'
import { meterSuite } from './store/meter.ts'
import { modelUsageSuite } from './store/model-usage.ts'
import { referencesSuite } from './store/references.ts'
import { resourcesSuite } from './store/resources.ts'
import { schedulesSuite } from './store/schedules.ts'
import { tenantsSuite } from './store/tenants.ts'
import { transactionsSuite } from './store/transactions.ts'
import { usageSuite } from './store/usage.ts'

export type Open = (t: Test) => Promise<WritableStore>

export const storeSuite = async (t: Test, open: Open): Promise<void> => {
  await tenantsSuite(t, open)
  await resourcesSuite(t, open)
  await listingSuite(t, open)
  await instancesSuite(t, open)
  await transactionsSuite(t, open)
  await referencesSuite(t, open)
  await belongingsSuite(t, open)
  await meterSuite(t, open)
  await schedulesSuite(t, open)
  await usageSuite(t, open)
  await modelUsageSuite(t, open)
}
