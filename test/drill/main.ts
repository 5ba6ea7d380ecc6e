/**
 * Does to scratch sandboxes on this box what can happen to real ones, and tells how it went: `make drill [ONLY=part-of-a-name]`. Nothing of
 * the operator's own servers is touched. Closes with 1 when something was lost, left over, or billed wrongly.
 */
import { messageOf } from '../../shared/errors.ts'
import { whyNoMachines } from '../support/machine.ts'
import { disasters, type Disaster, type Outcome } from './disasters.ts'

const say = (line: string) => void process.stdout.write(`${line}\n`)

const play = async (disaster: Disaster): Promise<Outcome> => {
  const undo: (() => unknown)[] = []
  try {
    return await disaster.run({ teardown: one => undo.unshift(one) })
  } finally {
    for (const one of undo) await one()
  }
}

const line = (cells: readonly string[]): string =>
  cells.map((cell, at) => (at === 0 ? cell.padEnd(66) : cell.padStart(13))).join('')

const main = async (only = ''): Promise<number> => {
  const chosen = disasters.filter(({ name }) => name.includes(only))
  if (chosen.length === 0) {
    say(
      `hutch drill: nothing that happens is called "${only}"; there are\n  ${disasters.map(({ name }) => name).join('\n  ')}`,
    )
    return 1
  }
  const why = whyNoMachines()
  if (why) {
    say(`hutch drill: ${why}`)
    return 1
  }
  let bad = 0
  say(line(['what happens', 'recovery', 'lost bytes', 'leaks', 'billed wrong']))
  for (const disaster of chosen)
    try {
      const { recoveredMs, lostBytes, leaks, billedS } = await play(disaster)
      if (lostBytes > 0 || leaks.length > 0 || billedS > 0) bad++
      say(line([disaster.name, `${recoveredMs} ms`, String(lostBytes), String(leaks.length), `${billedS} s`]))
      for (const leak of leaks) say(`  left over: ${leak}`)
    } catch (error) {
      bad++
      say(line([disaster.name, 'never']))
      say(`  ${messageOf(error)}`)
    }
  return bad > 0 ? 1 : 0
}

process.exit(await main(process.argv[2]))
