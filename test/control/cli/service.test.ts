/** The unit that is made is one that systemd takes, and it stops the server alone. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../../support/command.ts'

t.test('what an operator gets', async t => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-service-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const path = join(dir, 'hutch.service')
  const env = { HUTCH_DATA_DIR: '/srv/100% mine', HUTCH_PORT: '8090', HUTCH_WARM: 'base=2' }
  t.match(await runCommand(['service', path], env), { code: 0, out: /is written; systemctl daemon-reload/ })
  const unit = readFileSync(path, 'utf8')
  for (const line of [
    'KillMode=process',
    'KillSignal=SIGTERM',
    'Restart=on-failure',
    'StartLimitIntervalSec=0',
    'OOMPolicy=continue',
    'LimitCORE=0',
    'Environment="HUTCH_DATA_DIR=/srv/100%% mine"',
    'Environment="HUTCH_PORT=8090"',
    'Environment="HUTCH_WARM=base=2"',
  ])
    t.ok(unit.includes(`\n${line}\n`), line)
  t.match(unit, /^Environment="NODE_COMPILE_CACHE=\/.*\/\.runtime\/compiled"$/m)
  t.match(unit, /^ExecStart="\/.*node" "\/.*control\/main\.ts" "run"$/m)
  t.match(await runCommand(['service', path], env), { code: 1, error: /EEXIST/ }, 'never over another')
  t.match(
    await runCommand(['service', join(dir, 'none/x.service')], env),
    { code: 1, error: /none\/x\.service cannot be written: ENOENT/ },
    'which file, where its directory is not there',
  )
  t.equal((await runCommand(['service'], env)).out, unit, 'without a file, it is printed')
  t.match(await runCommand(['service'], { HUTCH_PORT: 'x' }), { code: 1 }, 'a server that would not start has no unit')
  if (spawnSync('systemd-analyze', ['--version']).status !== 0)
    t.pass('no systemd here', { skip: 'no systemd-analyze' })
  else
    t.equal(
      execFileSync('systemd-analyze', ['verify', path], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
      '',
    )
})
