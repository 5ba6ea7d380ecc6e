/** The README's five minutes, pasted line by line against a server: each command prints what stands behind it. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkout } from '../support/chroot.ts'
import { server } from '../support/server.ts'
import { until } from '../support/until.ts'
import { withoutMachines } from './pages.ts'
import { runSteps } from './shell.ts'
import { printsAsSaid, startOf, tourOf } from './tour.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(withoutMachines() ?? (spawnSync('jq', ['--version']).error ? 'needs jq' : undefined))

const readme = readFileSync(join(checkout, 'README.md'), 'utf8')

t.test('the tour', async t => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '3' })
  await until(() => /token=\S+\n/.test(s.output()), 'the last line of the start')
  const said = s.output().replaceAll(s.dataDir, '/srv/hutch/.hutch')
  t.ok(printsAsSaid(startOf(readme).says, said.replaceAll(new URL(s.url).port, '8080')), `make run says: ${said}`)
  const steps = tourOf(readme)
  t.ok(steps.length > 12, 'all of it is found')
  t.ok(steps.filter(({ says }) => says !== undefined).length > 10, 'with what it prints')
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
})
