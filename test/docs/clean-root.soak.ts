/**
 * A new user's first hour, word by word: a Debian 12 without a compiler and with Debian's older Node, a bare clone, `make demo`,
 * the tour, what the README has pasted, and the examples of the pages. `make setup`, with which every target begins, has the internet; after it,
 * everything is done without.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkout } from '../support/chroot.ts'
import { withoutCleanRoot } from '../support/clean-root.ts'
import { debianBox } from '../support/debian-box.ts'
import { printsAsSaid, sectionOf, startOf, tourOf, tourPage } from './tour.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(withoutCleanRoot())

const readme = readFileSync(join(checkout, 'README.md'), 'utf8')
const tour = readFileSync(join(checkout, 'docs', tourPage), 'utf8')
/** What the README asks for, and a Node that is too old for Hutch. */
const packages = ['ca-certificates', 'git', 'make', 'nodejs']
const mark = '\x1e'

t.setTimeout(3_000_000)

t.test('a clean Debian', async t => {
  t.match(readme, /apt-get install -y git make/, 'the README says what a bare Debian lacks')
  const box = await debianBox(t, packages, ['hutch/.hutch'])
  const clone = join(box.home, 'hutch')
  execFileSync('git', ['clone', '--quiet', checkout, join(box.dir, clone)])
  const before = await box.run('node --version; command -v gcc cc g++ python3 npm runc iptables ip curl jq')
  t.match(before.all, /^v(1\d|20|22)\.[\d.]+$/, 'an old Node, and nothing else of what is needed')

  await t.test('make setup, which make demo begins with', async t => {
    const begun = performance.now()
    const { all, exitCode } = await box.run(`cd ${clone} && make setup`, { network: 'internet', timeoutS: 1_500 })
    t.equal(exitCode, 0, all.slice(-3_000))
    t.comment(`${Math.round((performance.now() - begun) / 1000)} s`)
    const strange = all.split('\n').filter(line => line !== '' && !line.startsWith('setup: '))
    t.same(strange, [], 'it says what it does, and has nothing to complain of')
    const again = await box.run(`cd ${clone} && make setup`)
    t.same(again, { all: '', exitCode: 0 }, 'a second time there is nothing to do')
  })

  await t.test('make demo', async t => {
    const { all, exitCode } = await box.run(`cd ${clone} && make demo`)
    t.equal(exitCode, 0, all)
    const story = /```\n(hutch demo: [^]*?)\n```/.exec(readme)?.[1] ?? ''
    const lines = (text: string) => text.split('\n').map(line => line.replace(/[\d.]+/g, '<n>'))
    t.same(lines(all), lines(story), 'it prints what the README shows')
  })

  await t.test('the tour', async t => {
    const { script, says } = startOf(tour)
    const steps = [...tourOf(tour), ...tourOf(sectionOf(readme))]
    const paste = [
      `cd ${clone}`,
      `${script} >/srv/run.log 2>&1 & server=$!`,
      'until grep -q "serving on" /srv/run.log; do kill -0 $server; sleep 0.2; done',
      ...steps.map(({ script }) => `${script}\nprintf '${mark}'`),
      'kill -TERM $server; while curl -s -o /dev/null $H/healthz; do sleep 0.2; done; cat /srv/run.log',
    ]
    writeFileSync(join(box.dir, 'srv/tour.sh'), paste.join('\n'))
    const { all, exitCode } = await box.run('bash /srv/tour.sh', { timeoutS: 240 })
    const printed = all.split(mark)
    t.equal(printed.length, steps.length + 1, 'every step came to its end')
    for (const [index, { script, says }] of steps.entries())
      if (says !== undefined)
        t.ok(
          printsAsSaid(says, printed[index] ?? ''),
          `${script.split('\n')[0]} prints ${printed[index]?.slice(0, 400)}`,
        )
    const log = (printed.at(-1) ?? '').split('\n').filter(line => !line.startsWith('{'))
    const own = log.join('\n').replaceAll(clone, '/srv/hutch')
    t.ok(printsAsSaid(`${says}…`, own), `make run says ${own}`)
    t.match(own, /hutch: stopping; sandboxes run on/)
    t.equal(exitCode, 0)
  })

  await t.test('make doctor', async t => {
    const { all, exitCode } = await box.run(`cd ${clone} && make doctor`, { timeoutS: 240 })
    t.equal(exitCode, 0, all)
    t.match(all, /Hutch can run here/)
  })

  await t.test('the examples of the pages', async t => {
    const { all, exitCode } = await box.run(`cd ${clone} && make test ONLY=test/docs/`, {
      network: 'own',
      timeoutS: 900,
    })
    t.equal(exitCode, 0, all.slice(-6_000))
    t.match(all, /\d+ passed, 0 failed/)
  })

  await t.test('make clean leaves what cannot be built offline', async t => {
    const { all, exitCode } = await box.run(`cd ${clone} && make clean`)
    t.equal(exitCode, 0, all)
    t.ok(existsSync(join(box.dir, clone, '.runtime/node/bin/node')))
  })
})
