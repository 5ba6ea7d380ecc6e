import t from 'tap'
import { tenantDrops } from '../../../daemon/init/capabilities.ts'

const has = (bits: bigint, number: number) => ((bits >> BigInt(number)) & 1n) === 1n

t.test('tenants keep what package managers and servers need', async t => {
  for (const number of [0, 1, 3, 5, 6, 7, 10, 18]) t.notOk(has(tenantDrops, number), `capability ${number} stays`)
})

t.test('tenants lose the firewall, tracing, administration, and whatever is not known yet', async t => {
  for (const number of [2, 12, 16, 17, 19, 21, 24, 38, 39, 40, 63]) t.ok(has(tenantDrops, number), `${number} goes`)
})
