/**
 * Breaks every defence in the tables, in a copy, and says whether its test has noticed:
 *
 *     node test/mutations/run.ts [words]     those with one of the words in their name, file or test
 */
import { allDefences } from './all.ts'
import { tryDefences } from './mutate.ts'

await tryDefences(allDefences, process.argv.slice(2), ({ name, test }, outcome, ms) => {
  process.stdout.write(`${outcome}: ${name} (${test}, ${(ms / 1000).toFixed(1)} s)\n`)
  if (outcome !== 'seen') process.exitCode = 1
})
