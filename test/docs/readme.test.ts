/** What the README and docs/tour.md have a reader paste works: each command prints what stands behind it. The README is short. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { checkout } from '../support/chroot.ts'
import { server, type Server } from '../support/server.ts'
import { until } from '../support/until.ts'
import { withoutMachines } from './pages.ts'
import { runSteps } from './shell.ts'
import { printsAsSaid, sectionOf, startOf, tourOf, tourPage, type TourStep } from './tour.ts'
import { skipFile } from '../support/skip-file.ts'

const read = (path: string) => readFileSync(join(checkout, path), 'utf8')
const readme = read('README.md')
const tour = read(`docs/${tourPage}`)

t.test('the README is short and tells of no day and no run', async t => {
  t.ok(readme.trimEnd().split('\n').length <= 150, 'at most 150 lines')
  t.notMatch(readme, /\b20\d\d\b|\bload \d|\bbusy\b|\bsoak\b/)
  const rows = (heading: string) =>
    (readme.split(`\n## ${heading}\n`)[1] ?? '').split('\n## ')[0]?.match(/^\| (?!\|)/gm)?.length ?? 0
  t.equal(rows('What protects whom'), 7)
  t.equal(rows('Five numbers') - 1, 5, 'below the row of headings')
})

skipFile(withoutMachines() ?? (spawnSync('jq', ['--version']).error ? 'needs jq' : undefined))

/** Runs all of it against `s`, and compares what each command prints. */
const paste = async (t: Test, s: Server, steps: readonly TourStep[]): Promise<void> => {
  const here = (script: string): string =>
    script
      .replaceAll('http://127.0.0.1:8080', s.url)
      .replaceAll('.hutch/admin-key', join(s.dataDir, 'admin-key'))
      .replace('sleep 16', 'sleep 5')
  const printed = await runSteps(
    steps.map(({ script }, line) => ({ script: here(script), output: undefined, line })),
    `cd ${checkout}`,
  )
  for (const [index, { script, says }] of steps.entries())
    if (says !== undefined)
      t.ok(
        printsAsSaid(says, printed[index] as string),
        `${script.split('\n')[0]} prints ${printed[index]?.slice(0, 400)}`,
      )
}

const withOutput = (steps: readonly TourStep[]) => steps.filter(({ says }) => says !== undefined).length

t.test('the tour', async t => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '3' })
  await until(() => /token=\S+\n/.test(s.output()), 'the last line of the start')
  const said = s.output().replaceAll(s.dataDir, '/srv/hutch/.hutch')
  t.ok(printsAsSaid(startOf(tour).says, said.replaceAll(new URL(s.url).port, '8080')), `make run says: ${said}`)
  const steps = tourOf(tour)
  t.ok(steps.length > 12, 'all of it is found')
  t.ok(withOutput(steps) > 10, 'with what it prints')
  await paste(t, s, steps)
})

t.test('the same by HTTP and MCP', async t => {
  const steps = tourOf(sectionOf(readme))
  t.equal(withOutput(steps), 6, 'all of it is found')
  await paste(t, await server(t), steps)
})
