import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createUpgrades, type UpgradeDeps } from '../../../daemon/upgrade/upgrade.ts'
import { systemClock } from '../../../shared/clock.ts'
import { silentLog } from '../../../shared/log.ts'
import type { LastUpgrade } from '../../../shared/wire/system.ts'
import { answerJson, standIn } from '../../support/stand-in.ts'

const program = `#!/bin/sh\n${'# padding\n'.repeat(200)}`

const make = async (t: Test, options: Partial<UpgradeDeps> = {}, content = program) => {
  const releases = await standIn(t, (_asked, response) => response.end(content))
  const candidate = await standIn(t, ({ path }, response) =>
    answerJson(response, path === '/health' ? { status: 'ok' } : []),
  )
  const became: { content: string; done: LastUpgrade }[] = []
  const config = {
    devMode: false,
    releasesUrl: releases.url,
    releasesDir: '',
    upgradeDir: `${t.testdir({})}/up`,
    ...options.config,
  }
  const made = createUpgrades({
    clock: { ...systemClock(), sleep: async (_ms, signal) => signal?.throwIfAborted() },
    log: silentLog,
    jitter: () => 0,
    list: () => [],
    keyed: () => false,
    start: async () => ({
      port: Number(new URL(candidate.url).port),
      ended: new Promise(() => {}),
      stop: async () => {},
    }),
    hold: () => () => undefined,
    replace: async (fd, done) => void became.push({ content: readFileSync(`/proc/self/fd/${fd}`, 'utf8'), done }),
    ...options,
    config,
  })
  t.teardown(made.close)
  const run = async (baseUrl = releases.url) => {
    made.start({ version: 'v2', baseUrl })
    await made.settled()
    return made.last()
  }
  return { made, run, became, releases }
}

t.test('download, check, rehearsal, replacement', async t => {
  const { run, became, releases } = await make(t)
  await run()
  t.match(releases.asked[0]?.path, /^\/download\/v2\/sandbox-api-linux-/)
  t.equal(became.length, 1)
  t.equal(became[0]?.content, program)
  t.match(became[0]?.done, {
    status: 'completed',
    step: 'completed',
    version: 'v2',
    bytesDownloaded: program.length,
    downloadUrl: /\/download\/v2\//,
  })
})

t.test('what is no program is not started', async t => {
  const { run, became } = await make(t, {}, '<html>'.repeat(1000))
  t.match(await run(), { status: 'failed', step: 'validate', error: /neither an ELF/ })
  t.same(became, [])
})

t.test('a release that does not exist leaves this daemon in charge', async t => {
  const { url } = await standIn(t, (_asked, response) => response.writeHead(404).end())
  const config = { devMode: false, releasesUrl: url, releasesDir: '', upgradeDir: t.testdir({}) }
  const { run } = await make(t, { config })
  t.match(await run(url), { status: 'failed', step: 'download', error: /404/ })
})

t.test('no channel, another channel or development mode: skipped before anything is fetched', async t => {
  const dir = t.testdir({})
  for (const [config, error] of [
    [{ devMode: false, releasesUrl: '', releasesDir: '', upgradeDir: dir }, /no release channel/],
    [{ devMode: false, releasesUrl: 'http://other', releasesDir: '', upgradeDir: dir }, /http:\/\/other only/],
    [{ devMode: true, releasesUrl: 'http://other', releasesDir: '', upgradeDir: dir }, /development mode/],
  ] as const) {
    const { run, releases } = await make(t, { config })
    t.match(await run(), { status: 'failed', step: 'skipped', error })
    t.same(releases.asked, [])
  }
})

t.test('a failed replacement is a failed upgrade', async t => {
  const { run } = await make(t, {
    replace: async () => {
      throw new Error('ENOEXEC')
    },
  })
  t.match(await run(), { status: 'failed', step: 'replace', error: 'ENOEXEC' })
})

t.test('closing ends what is under way', async t => {
  const { made, releases, became } = await make(t, { clock: systemClock() })
  made.start({ version: 'v2', baseUrl: releases.url })
  await made.close()
  t.match(made.last(), { status: 'failed' })
  t.same(became, [])
})

t.test('the sandbox stays awake while an upgrade is under way, however it ends', async t => {
  let held = 0
  const heldWhile: number[] = []
  const hold = () => {
    held++
    return () => void held--
  }
  const { run } = await make(t, {
    hold,
    replace: async () => {
      heldWhile.push(held)
      throw new Error('not today')
    },
  })
  t.match(await run(), { status: 'failed', error: 'not today' })
  t.same([heldWhile, held], [[1], 0])
})
