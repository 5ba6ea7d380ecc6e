/** For which images generic machines are given while they cannot become ones of them. */
import t from 'tap'
import { createCircuit } from '../../../../../control/core/machines/warm/circuit.ts'
import { rootStep } from '../../../../../control/drivers/driver.ts'
import { fail } from '../../../../../shared/errors.ts'
import { jsonLog } from '../../../../../shared/log.ts'
import { fakeClock } from '../../../../support/clock.ts'

const rootless = fail('driver_failed', { driver: 'oci', step: rootStep, reason: 'pivot_root: Invalid argument' })
const minute = 60_000

const opened = () => {
  const clock = fakeClock()
  const lines: string[] = []
  const log = jsonLog({ level: 'info', now: clock.now, write: line => lines.push(line) })
  const circuit = createCircuit({ clock, log })
  let count = 0
  return {
    clock,
    circuit,
    said: () => lines.map(line => JSON.parse(line).event),
    /** One is given for that image, and comes to that. */
    give(digest: string, error?: unknown) {
      const id = `${count++}`
      circuit.given(digest, [id])
      circuit.became(id, error)
    },
  }
}

t.test('after three failures in a row none is given for that image, longer each time, until one goes well', async t => {
  const { clock, circuit, give, said } = opened()
  give('a', rootless)
  give('a', rootless)
  give('a')
  give('a', rootless)
  give('a', rootless)
  t.equal(circuit.most('a'), Infinity, 'not in a row')
  give('a', rootless)
  t.equal(circuit.most('a'), 0)
  t.equal(circuit.most('b'), Infinity, 'others are')
  t.match(circuit.paused, [/pivot_root/])
  for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60]) {
    await clock.tick(minutes * minute - 1)
    t.equal(circuit.most('a'), 0, `paused for ${minutes}`)
    await clock.tick(1)
    t.equal(circuit.most('a'), 1, 'one is tried')
    give('a', rootless)
  }
  t.same(said(), ['warm.generic-paused'], 'said once')
  await clock.tick(60 * minute)
  give('a')
  t.equal(circuit.most('a'), Infinity)
  t.same(circuit.paused, [])
  t.same(said(), ['warm.generic-paused', 'warm.generic-resumed'])
})

t.test('many that fail together are one cause, and one is tried at a time', async t => {
  const { clock, circuit, give } = opened()
  const ids = Array.from({ length: 50 }, (_, at) => `at once ${at}`)
  circuit.given('a', ids)
  for (const id of ids) circuit.became(id, rootless)
  await clock.tick(minute)
  circuit.given('a', ['trial'])
  t.equal(circuit.most('a'), 0, 'while one is tried')
  circuit.became('trial', new Error('its host ended'))
  t.equal(circuit.most('a'), 1, 'which has said nothing of the root')
  circuit.given('a', ['lost'])
  await clock.tick(minute)
  t.equal(circuit.most('a'), 1, 'nor one of which nothing was heard')
  give('a')
  t.equal(circuit.most('a'), Infinity)
})

t.test('what fails otherwise, and machines of an image, say nothing', async t => {
  const { circuit, give } = opened()
  for (let round = 0; round < 5; round++) {
    give('a', fail('driver_failed', { driver: 'oci', step: 'claim', reason: 'no such process' }))
    give('a', new Error('its daemon does not answer'))
    circuit.became('of an image', rootless)
  }
  t.equal(circuit.most('a'), Infinity)
})
