/**
 * A tenant who is root in a real machine does his worst: his machine stays his, the daemon goes on answering, and
 * nothing is written where he could not write himself. Bombs go off inside the machine's own control group only.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../shared/clock.ts'
import { inUpper } from '../support/machine-files.ts'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

const clock = systemClock()

t.test('a hostile tenant', async t => {
  const s = await server(t, { HUTCH_PIDS_LIMIT: '128', HUTCH_STANDBY_SECONDS: '3600' })
  const { status, body: made } = await s.call('POST', '/v0/sandboxes', {
    metadata: { name: 'evil' },
    spec: { runtime: { image: 'svc/base-image:latest', memory: 512 } },
  })
  t.equal(status, 200)
  const { url } = made.metadata
  const call = (method: string, path: string, body?: unknown) => s.call(method, `${url}${path}`, body)
  const health = async () => (await call('GET', '/health')).body
  const { startedAt } = await health()
  /** The daemon answers and is the one that was there at the beginning. */
  const lives = async (after: string) =>
    t.match(await health(), { status: 'ok', startedAt }, `the daemon lives, ${after}`)
  /** A path of a file family; the slash in front is part of the path. */
  const at = (path: string, family = 'filesystem') => `/${family}/${encodeURIComponent(path)}`
  const start = (command: string, more: object = {}) => call('POST', '/process', { command, ...more })
  const run = async (command: string, more: object = {}) =>
    (await start(command, { waitForCompletion: true, timeout: 60, ...more })).body
  const until = async (what: string, look: () => Promise<boolean>) => {
    for (const end = performance.now() + 60_000; !(await look()); await clock.sleep(20))
      if (performance.now() > end) throw new Error(`waited a minute for ${what}`)
  }

  await t.test('a fork bomb fills its own machine, not the host, and can be ended', async t => {
    const bomb = await start(`bash -c 'f() { f | f & }; f; sleep 1000'`, { name: 'bomb' })
    t.equal(bomb.status, 200)
    await until('the limit of processes', async () =>
      /Resource temporarily unavailable|Cannot fork/i.test((await call('GET', '/process/bomb/logs')).body?.logs ?? ''),
    )
    await lives('while the bomb burns')
    t.match((await call('GET', at('/etc'))).status, 200)
    // Nothing can be started now, or just so: it is an answer either way.
    const { status: other } = await start('true', { waitForCompletion: true, timeout: 20 })
    t.ok(other === 200 || (other >= 400 && other < 500), `starting answers ${other}`)
    await call('DELETE', '/process/bomb/kill')
    // Children that left the group are the tenant's to end: as root of his machine he may end everything but the daemon.
    await until('room to start something', async () => {
      await call('DELETE', '/process/bomb/kill')
      const { status: answered, body } = await start('kill -9 -1; echo room', { waitForCompletion: true, timeout: 20 })
      return answered === 200 && body.status !== 'running'
    })
    await until('an ordinary start', async () => (await run('echo ok')).stdout === 'ok\n')
    await lives('after the bomb')
  })

  await t.test('who takes all memory is killed, and nobody else', async t => {
    const hog = await run(`python3 -c 'x = []\nwhile True: x.append(bytearray(16 << 20))'`)
    t.match(hog.status, /failed|killed/)
    t.not(hog.exitCode, 0)
    await lives('after the hog')
    // In memory as well, if not in one process.
    const disk = await run('dd if=/dev/zero of=/dev/shm/full bs=1M count=2000 2>&1; echo ended')
    t.match(disk.status, /completed|failed|killed/)
    await lives('with full memory files')
    const { status: put } = await call('PUT', at('/dev/shm/more'), { content: 'x'.repeat(1_000_000) })
    t.ok(put === 200 || put === 422 || put === 500, `writing there answers ${put}`)
    await run('rm -f /dev/shm/full')
    t.equal((await run('echo ok')).stdout, 'ok\n')
  })

  await t.test('a flood of output and a directory of 10,000 files', async t => {
    await run(`mkdir /srv/many; cd /srv/many; seq -f 'file with %g' 10000 | xargs -d '\\n' touch`)
    const { body } = await call('GET', at('/srv/many'))
    t.equal(body.files.length, 10_000)
    t.equal((await call('GET', `${at('/srv/many', 'filesystem-find')}?maxResults=0`)).body.total, 10_000)
    await start('yes flood', { name: 'flood' })
    await until('the flood', async () => (await call('GET', '/process/flood')).body.stdout.length > 1_000)
    await lives('in the flood')
    t.equal((await call('DELETE', '/process/flood/kill')).status, 200)
    await lives('after the flood')
  })

  await t.test('files whose JSON is many times as large as they are', async t => {
    await run(
      `mkdir /srv/wide; cd /srv/wide; head -c 15M /dev/zero > nothing; printf '\\377' > wide; head -c 60M /dev/zero | cat - wide > more`,
    )
    const { status: tree, body } = await call('GET', `${at('/srv/wide', 'filesystem/tree')}?content=true`)
    t.equal(tree, 200)
    t.match(body.files, [
      { name: 'more', truncated: 'bytes' },
      { name: 'nothing', truncated: 'bytes' },
      { name: 'wide' },
    ])
    t.match(await call('GET', at('/srv/wide/more')), {
      status: 422,
      body: { error: /too large for JSON; download it/ },
    })
    await run('head -c 5M /dev/zero > /srv/wide/small')
    const params = { name: 'fsReadFile', arguments: { path: '/srv/wide/small' } }
    const { body: read } = await call('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    t.match(
      read,
      { result: { isError: true, content: [{ text: /too large for JSON/ }] } },
      'as a tool’s answer it is quoted twice',
    )
    await run('rm -r /srv/wide')
    await lives('after the wide files')
  })

  await t.test('names that climb, and variables that steer loaders and shells', async t => {
    for (const name of ['../../etc/passwd', '/etc/passwd', '..', 'a/b'])
      t.match(await start('true', { name }), { status: 400, body: { error: /name/ } }, name)
    t.equal((await start('echo dotted', { name: '..%2fetc', waitForCompletion: true })).status, 200)
    await run(`mkdir -p /srv/bin; printf '#!/bin/bash\\necho stolen > /srv/stolen' > /srv/bin/sh; chmod +x /srv/bin/sh
      for name in bash ip iptables mount setpriv rg node env; do cp /srv/bin/sh /srv/bin/$name; done
      printf 'echo sourced > /srv/sourced' > /srv/rc; echo 'require("fs").writeFileSync("/srv/required", "")' > /srv/x.js`)
    const env = { PATH: '/srv/bin', LD_PRELOAD: '/srv/none.so', BASH_ENV: '/srv/rc', ENV: '/srv/rc', IFS: '/' }
    t.match(await run('echo plain', { env }), { status: 'completed' })
    const steering = { ...env, NODE_OPTIONS: '--require /srv/x.js', LD_LIBRARY_PATH: '/srv', HUTCH_STATE_DIR: '/srv' }
    await run('mkdir -p /svc')
    t.equal(
      (await call('PUT', at('/svc/metadata'), { content: JSON.stringify({ environment: steering }) })).status,
      200,
    )
    t.match(await call('POST', '/environment/reload'), { status: 200, body: { applied: 8 } })
    t.equal((await call('GET', `${at('/etc', 'filesystem-content-search')}?query=root`)).status, 200)
    t.equal((await call('GET', `/network/process/${(await run('echo')).pid}/ports`)).status, 200)
    await call('POST', '/drives/mount', { driveName: 'none', mountPath: '/mnt' })
    await call('PUT', at('/svc/metadata'), { content: '{"environment":{}}' })
    t.match(await call('POST', '/environment/reload'), { status: 200 })
    const { stdout } = await run('ls /srv')
    t.notMatch(stdout, /stolen|required/, 'nothing of it ran in the name of the daemon')
    await lives('after steering')
  })

  await t.test('links and pipes where the daemon writes', async t => {
    // What the tenant himself cannot change, as it is now.
    const guarded =
      'ls -lR /.hutch 2>&1 | cut -c 1-10,14-; cat /proc/1/oom_score_adj /proc/sys/kernel/core_pattern 2>&1'
    const before = (await run(guarded)).stdout
    t.match(before, /bundle\.json/)
    const id = readdirSync(join(s.dataDir, 'machines'))[0] as string
    const places = ['/.hutch/daemon', '/proc/1', '/proc/sys/kernel', '/sys/fs/cgroup', '/var/lib/hutchd']
    for (const place of places) {
      await run(`cd /; rm -rf /var/log/sandbox-api /tmp/multipart-uploads
        ln -s ${place} /tmp/multipart-uploads; ln -s ${place} /var/log/sandbox-api; echo`)
      const { status: started } = await start('echo through', {
        name: 'core_pattern',
        waitForCompletion: true,
        timeout: 20,
      })
      t.ok(started === 200 || started === 422, `a process whose logs go to ${place} answers ${started}`)
      const { status: initiated } = await call('POST', at('/srv/parts', 'filesystem-multipart/initiate'), {})
      t.ok(initiated === 200 || initiated === 500, `an upload kept at ${place} answers ${initiated}`)
      t.equal((await call('PUT', at('/srv/back'), { content: place })).status, 200)
      await call('DELETE', at('/var/log/sandbox-api'))
      await call('DELETE', at('/tmp/multipart-uploads'))
      await call('PUT', at('/var/log/sandbox-api'), { isDirectory: true })
    }
    for (const name of ['trap.log', 'trap.stdout.log', 'trap.stderr.log'])
      await run(
        `cd /var/log/sandbox-api; rm -rf ${name}; case ${name} in *out*) ln -s /etc/passwd ${name};; *err*) mkfifo ${name};; *) mkdir ${name};; esac`,
      )
    await start('echo trapped; echo trapped >&2', { name: 'trap', waitForCompletion: true, timeout: 20 })
    await call('GET', '/process/trap/logs')
    t.notMatch((await run('cat /etc/passwd')).stdout, /trapped/)
    await run('mkdir -p /svc; rm -f /svc/metadata; mkfifo /svc/metadata')
    for (let i = 0; i < 6; i++) t.equal((await call('POST', '/environment/reload')).status, 500)
    await run('mkfifo /srv/pipe; ln -s /dev/zero /srv/zero')
    for (const name of ['pipe', 'zero'])
      for (const query of ['', '?download=true'])
        t.match((await call('GET', `${at(`/srv/${name}`)}${query}`)).status, /^4/, `${name}${query}`)
    t.equal((await run(guarded)).stdout, before, 'what the tenant cannot write is as it was')
    await lives('after all links')
    // Whatever he did lies in his own layer: no device, nothing that is set-uid on the host's side.
    const found = inUpper(s.dataDir, id, ['find', '.', '-type', 'c', '-exec', 'stat', '-c', '%t:%T %n', '{}', '+'])
    // What is deleted of the image is marked by a device 0:0.
    const devices = found.split('\n').filter(line => line !== '' && !line.startsWith('0:0 '))
    t.same(devices, [])
  })

  await t.test("what the daemon believes is in nobody's tree", async t => {
    const id = readdirSync(join(s.dataDir, 'machines'))[0] as string
    await run('true', { name: 'believed' })
    const hidden = (command: readonly [string, ...string[]]) => inUpper(s.dataDir, id, command)
    const journal = '../private/state/processes/processes.jsonl'
    t.match(hidden(['cat', journal]), /"believed"/)
    t.match(hidden(['stat', '-c', '%u %a', '../private']), /^0 700\n/)
    const { stdout: found } = await run(
      'find / -xdev -name processes.jsonl; ls -A /var/lib/hutchd; grep -h private /proc/*/mountinfo; ls /proc/1/fd/3; ls -l /proc/self/fd',
    )
    t.notMatch(found, /jsonl|state|private|\/proc\/1/, 'there is no way to it')
    t.notMatch(found, / -> \/$/m, 'nor has a process of a tenant its descriptor')
    const forged =
      hidden(['cat', journal])
        .split('\n')
        .findLast(line => line.includes('"believed"')) ?? ''
    await run(`mkdir -p /var/lib/hutchd/state/processes; cd /var/lib/hutchd/state; mkfifo tunnel
      echo '${forged.replaceAll('believed', 'forged')}' > processes/processes.jsonl`)
    t.equal((await s.call('POST', '/v0/sandboxes/evil/restart', {})).status, 200)
    await s.until('evil', body => body.status === 'DEPLOYED')
    const { body: listed } = await call('GET', '/process')
    const names = (listed as { name: string }[]).map(({ name }) => name)
    t.ok(names.includes('believed'), 'it is there after a restart')
    t.notOk(names.includes('forged'), 'what a tenant has put in the place of versions before is not')
    await run('rm -rf /var/lib/hutchd')
  })

  t.equal((await s.call('GET', '/v0/sandboxes/evil')).body.status, 'DEPLOYED')
  await s.call('DELETE', '/v0/sandboxes/evil')
  await s.until('evil', body => body.status === 'TERMINATED')
})
