import t from 'tap'
import { families, optionsOf } from './options.ts'

t.test('without options everything is measured, for people', async t => {
  t.same(optionsOf([]), { only: families, json: false })
})

t.test('one family, or a group of them, in the order they always run in', async t => {
  t.same(optionsOf(['--only', 'host', '--json']), { only: ['host'], json: true })
  t.equal(optionsOf(['--only', 'density', '--count', '1000']).count, 1_000)
  t.same(optionsOf(['--only', 'daemon']).only, ['bundle', 'process', 'files', 'beside', 'soak'])
  t.same(optionsOf(['--only', 'store', '--only', 'gateway']).only, ['gateway', 'management', 'store'])
})

t.test('what there is not is refused with what there is', async t => {
  t.throws(() => optionsOf(['--only', 'hots']), {
    message:
      /no benchmark "hots": use daemon, gateway, api, host, warm, quota, tti, density, neighbour, bundle, process/,
  })
  t.throws(() => optionsOf(['--count', 'ten']), { message: /--count .* "ten"/ })
  t.throws(() => optionsOf(['--josn']), { message: /josn/ })
  t.throws(() => optionsOf(['host']), { message: /host/ })
})
