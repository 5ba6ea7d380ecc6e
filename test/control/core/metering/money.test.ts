import t from 'tap'
import {
  costOf,
  priceList,
  priceOf,
  shownUsage,
  toUsageNumber,
  toUsd,
} from '../../../../control/core/metering/money.ts'
import { partsPerUnit, toQuanta } from '../../../../control/core/store/amounts.ts'

t.test('a price is the decimal number as written', async t => {
  const cases: [number, bigint, bigint][] = [
    [0, 0n, 1n],
    [2, 2n, 1n],
    [0.1, 1n, 10n],
    [0.0000115, 115n, 10_000_000n],
    [7e-8, 7n, 100_000_000n],
    [1e21, 10n ** 21n, 1n],
  ]
  for (const [usd, numerator, denominator] of cases) {
    const price = priceOf(usd)
    t.equal(price.numerator * denominator, numerator * price.denominator, String(usd))
  }
  t.same(priceList({ a: 0.5 })('b'), { numerator: 0n, denominator: 1n }, 'what has no price costs nothing')
})

t.test('the usual memory sizes and hours are exact, and amounts beyond 2^53 keep their cents', async t => {
  for (const quantity of [1 / 1024, 0.001, 0.125, 3.75, 128 / 1024, 1 / 3600])
    t.equal(toQuanta(quantity), Number((quantity * 1_152_000).toFixed(0)))
  t.equal(toQuanta(1 / 3600) * 3600, toQuanta(1))
  const parts = 10n ** 12n * partsPerUnit + partsPerUnit / 4n
  t.equal(toUsd(costOf(parts, priceOf(1))), 1_000_000_000_000.25)
  t.equal(toUsageNumber(shownUsage(partsPerUnit * 3n + partsPerUnit / 2n)), 3.5)
  t.equal(toUsd(costOf(partsPerUnit * 3600n * 4n, priceOf(0.0000115))), 0.1656)
})
