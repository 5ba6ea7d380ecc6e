/** Releases that are no good: the daemon in charge stays in charge, or is again, with all it had. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { until } from '../../support/processes.ts'
import { upgradable, type Upgradable } from '../../support/releases.ts'
import { open, type } from '../../support/terminal.ts'

const env = { SHELL: '/bin/sh', PS1: '$ ' }
const live = '[ -n "$HUTCH_REHEARSAL" ] ||'

/** Something of everything that has to go on. */
const busy = async (t: Test, daemon: Upgradable) => {
  const { ask, url } = daemon
  const { pid } = (await ask('POST', '/process', { name: 'fed', command: 'cat; exit 7', stdin: true })).body
  const feed = async (text: string) =>
    t.equal((await fetch(`${url}/process/fed/stdin`, { method: 'POST', body: text })).status, 200)
  await feed('before\n')
  const terminal = await open(t, url, '?sessionId=kept')
  type(terminal, 'x=kept-$((6*7)); echo $x\r')
  await terminal.until(/kept-42\r/)
  return {
    terminal,
    async goesOn() {
      t.match((await ask('GET', '/process/fed')).body, { pid, status: 'running' })
      await feed('after\n')
      t.equal((await ask('DELETE', '/process/fed/stdin')).status, 200)
      const fed = await until('its end', async () => {
        const { body } = await ask('GET', '/process/fed')
        return body.status !== 'running' && body
      })
      t.match(fed, { stdout: 'before\nafter\n', exitCode: 7 })
      const again = await open(t, url, '?sessionId=kept')
      type(again, 'echo "again=$x"\r')
      await again.until(/again=kept-42/)
    },
  }
}

t.test('one that fails its rehearsal is never begun, and nobody notices', async t => {
  const daemon = await upgradable(t, { broken: 'exit 3', good: '' }, env)
  const { terminal, goesOn } = await busy(t, daemon)
  t.match(await daemon.upgrade('broken'), {
    upgradeCount: 0,
    lastUpgrade: { status: 'failed', step: 'validate', error: /ended at once: exit code 3/ },
  })
  type(terminal, 'echo same-$((1+1))\r')
  await terminal.until(/same-2/)
  await goesOn()
  t.match(await daemon.upgrade('none'), { lastUpgrade: { status: 'failed', error: /release none is not in/ } })
  t.match(
    await daemon.upgrade('good'),
    { upgradeCount: 1, lastUpgrade: { status: 'completed' } },
    'a good one is taken',
  )
})

t.test('one that rehearses well and cannot start gives the place back', async t => {
  const daemon = await upgradable(t, { broken: `${live} set -- "$@" --port nonsense`, good: '' }, env)
  const { terminal, goesOn } = await busy(t, daemon)
  const closed = once(terminal.socket, 'close')
  t.match(await daemon.upgrade('broken'), {
    upgradeCount: 0,
    lastUpgrade: { status: 'failed', step: 'replace', version: 'broken', error: /did not start: .*port/ },
  })
  t.equal((await closed)[0], 1012)
  await goesOn()
  t.match(
    await daemon.upgrade('good'),
    { upgradeCount: 1, lastUpgrade: { status: 'completed' } },
    'a good one is taken',
  )
})

t.test('two at once: the second is refused', async t => {
  const daemon = await upgradable(t)
  const both = await Promise.all([daemon.ask('POST', '/upgrade'), daemon.ask('POST', '/upgrade')])
  t.same(both.map(({ status }) => status).toSorted(), [200, 409])
  await until(
    'its end',
    async () => (await daemon.ask('GET', '/health').catch(() => undefined))?.body.upgradeCount === 1,
  )
})

t.test('an environment larger than an exec takes goes on, and a later reload knows what it was given', async t => {
  const metadata = join(t.testdir(), 'metadata')
  const daemon = await upgradable(t, undefined, { SVC_METADATA_PATH: metadata })
  const reload = async (environment: object) => {
    writeFileSync(metadata, JSON.stringify({ environment }))
    return (await daemon.ask('POST', '/environment/reload')).body
  }
  const large = Object.fromEntries(['A', 'B', 'C'].map(name => [name, name.repeat(100_000)]))
  t.match(await reload({ ...large, GONE: 'later' }), { applied: 4 })
  t.match(await daemon.upgrade('two'), { upgradeCount: 1, lastUpgrade: { status: 'completed' } })
  const command = 'echo ${#A} ${#B} ${#C} $GONE'
  t.match((await daemon.ask('POST', '/process', { command, waitForCompletion: true })).body, {
    stdout: '100000 100000 100000 later\n',
  })
  t.match(await reload({ A: 'small' }), { applied: 1, removed: 3 })
})
