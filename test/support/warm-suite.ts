/** What machines made ahead of need are to the sandboxes of a real server that are given them; beside one that was made for its sandbox. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { filesOf } from '../../control/drivers/oci/layout.ts'
import { readMarker } from '../../control/drivers/oci/marker.ts'
import { inUpper } from './machine-files.ts'
import { server } from './server.ts'

/** `pool` names the image of the machines, or `*`. Sandboxes are of busybox. */
export const warmSuite = async (t: Test, pool: string): Promise<void> => {
  const host = await server(t, { HUTCH_WARM: `${pool}=3`, HUTCH_LOG_LEVEL: 'info' })

  /** Waits until so many are ready, and answers what the pools say. */
  const ready = async (count: number) => {
    for (const end = performance.now() + 120_000; ; await sleep(20)) {
      const { body } = await host.call('GET', '/v0/warm-pools')
      if (body.pools[0].ready >= count) return body
      if (performance.now() > end) throw new Error(`the pool stays ${JSON.stringify(body)}\n${host.output()}`)
    }
  }

  const create = async (name: string, spec: object = {}, runtime: object = {}) => {
    const envs = [{ name: 'MINE', value: name }]
    const whole = { runtime: { image: 'busybox', memory: 512, envs, ...runtime }, ...spec }
    const { status, text } = await host.call('POST', '/v0/sandboxes', { metadata: { name }, spec: whole })
    if (status !== 200) throw new Error(text)
  }

  const run = async (name: string, command: string): Promise<string> => {
    const { body, text } = await host.call('POST', `/default/sandboxes/${name}/process`, {
      command,
      waitForCompletion: true,
      timeout: 60,
    })
    if (body?.status !== 'completed' && body?.status !== 'failed') throw new Error(text)
    return body.logs
  }

  /** A generic machine that nobody has claimed has nothing to write to. */
  const hasRoot = (id: string): boolean =>
    !readFileSync(filesOf(host.dataDir, id).marker, 'utf8').includes(join(host.dataDir, 'generic'))

  /** Ids of machines by the sandbox whose host name they have. */
  const machineOf = (name: string): string => {
    const machines = join(host.dataDir, 'machines')
    const found = readdirSync(machines)
      .filter(hasRoot)
      .find(id => inUpper(host.dataDir, id, ['cat', 'etc/hostname']) === `${name}\n`)
    if (!found) throw new Error(`no machine of ${name}`)
    return found
  }

  const filesIn = (id: string): string[] =>
    inUpper(host.dataDir, id, ['find', '.', '-printf', '%p %y %m %U:%G\n'])
      .split('\n')
      .filter(line => !/\/state\/[^/]+\/.|\/proc-|\/entrypoint\./.test(line))
      .toSorted()

  /** What its disk has room for; the size of the file system may be larger (docs/walls.md). */
  const availableMb = async (name: string): Promise<number> =>
    Number(await run(name, 'df -m / | tail -1 | tr -s " " | cut -d" " -f4'))

  /** What a sandbox sees of itself. */
  const look = [
    'hostname',
    'echo $MINE $SVC_NAME $HOSTNAME $HOME $PWD',
    'cat /etc/hostname',
    'tail -1 /etc/hosts | cut -d" " -f2',
    'cat /etc/resolv.conf',
    'df -m /dev/shm | tail -1 | tr -s " " | cut -d" " -f2',
    'id',
    'nproc',
    'grep -E "^(MemTotal|SwapTotal)" /proc/meminfo; grep -c ^processor /proc/cpuinfo; grep -c "^cpu[0-9]" /proc/stat',
    'cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null',
    'cat /proc/self/mounts | cut -d" " -f2-4 | grep -v ^/proc/ | sed "s/id=[0-9]*//g" | sort',
  ].join('; ')

  t.test('a sandbox that was given a machine sees what one sees whose machine was made for it', async t => {
    await ready(3)
    await create('made', {}, { entrypoint: ['true'] })
    const before = readdirSync(join(host.dataDir, 'machines'))
    await create('given')
    const made = await run('made', look)
    const given = await run('given', look)
    const { claimed, missed } = await ready(3)
    t.same({ claimed, missed }, { claimed: 1, missed: 0 }, 'what needs a new machine does not ask')
    t.equal(given.replaceAll('given', 'made'), made)
    t.match(given, /^MemTotal: +524288 kB$/m, 'its own memory, not that of nobody’s machine')
    t.ok(before.includes(machineOf('given')), 'its machine is one that was there before it')
    const [room, roomMade] = [await availableMb('given'), await availableMb('made')]
    t.ok(room > 200 && room <= 256 && Math.abs(room - roomMade) < 32, `${room} and ${roomMade} MB are available`)
    t.same(filesIn(machineOf('given')), filesIn(machineOf('made')), 'and has the same files, whoever’s they are')
    for (const name of ['given', 'made']) await host.call('DELETE', `/v0/sandboxes/${name}`)
  })

  /** What could show that a machine was there before its sandbox: times of what the host has written, names, secrets. */
  const remains = [
    'stat -c "%Y %n" /etc/hostname /etc/hosts /etc/resolv.conf',
    '(hostname; env; cat /etc/hostname /etc/hosts; find / -xdev -type f -newer /bin/busybox) | grep -a -i -e nobody -e practi',
    'cat /proc/sys/kernel/random/uuid; head -c 16 /dev/urandom | base64; cat /etc/machine-id 2>/dev/null',
  ].join('; echo ---; ')

  t.test('nothing of its time as nobody’s is left in a machine, and two of a pool share no secret', async t => {
    await ready(3)
    const secrets: string[] = []
    const names = ['one', 'other']
    for (const name of names) {
      const asked = Date.now()
      await create(name)
      const { body: health } = await host.call('GET', `/default/sandboxes/${name}/health`)
      const since = (Date.now() - asked) / 1000
      t.ok(health.uptimeSeconds <= since, `it says ${health.uptimeSeconds} s, and was asked for ${since} s ago`)
      t.ok(Date.parse(health.startedAt) >= asked - 1_000, health.startedAt)
      t.same((await host.call('GET', `/default/sandboxes/${name}/process`)).body, [], 'no process is remembered')
      const command = { command: remains, waitForCompletion: true }
      const { body } = await host.call('POST', `/default/sandboxes/${name}/process`, command)
      const [times = '', traces, random = ''] = body.logs.split('---\n')
      for (const line of times.trim().split('\n')) t.ok(Number(line.split(' ')[0]) >= Math.floor(asked / 1000), line)
      t.equal(times.trim().split('\n').length, 3)
      t.equal(traces, '', 'no name, variable or file of that time')
      secrets.push(body.name, ...random.trim().split('\n'))
    }
    await ready(3)
    for (const id of names.map(machineOf)) {
      const files = filesOf(host.dataDir, id)
      const printed = readFileSync(files.output, 'utf8').trim().split('\n')
      t.match(
        JSON.parse(printed[0] ?? '{}'),
        { event: 'daemon.claimed' },
        'what its daemon printed before is not its owner’s',
      )
      secrets.push((await readMarker(files.marker))?.channel?.generation ?? '')
    }
    t.equal(secrets.length, 10, secrets.join(' '))
    t.equal(new Set(secrets).size, secrets.length, 'names, random numbers and keys of the channel differ')
    for (const name of names) await host.call('DELETE', `/v0/sandboxes/${name}`)
  })

  t.test('its outbound policy holds as that of one whose machine was made for it', async t => {
    await ready(3)
    const { claimed } = await ready(3)
    const policy = { network: { allowedDomains: ['allowed.test'], proxy: { bypass: [] } } }
    await create('held', policy)
    await create('held-made', policy, { entrypoint: ['true'] })
    const tries = [
      'wget -S -O- http://forbidden.test/ 2>&1',
      'unset http_proxy HTTP_PROXY; wget -T 20 -S -O- http://93.184.215.14/ 2>&1',
      'env | grep -i -e proxy -e CERT | sort; cat /etc/resolv.conf /etc/hutch-*; nslookup forbidden.test 2>&1 | tail -2',
    ].map(line => `${line}; echo "ended with $?"`)
    for (const line of tries) {
      const given = await run('held', line)
      t.equal(given, await run('held-made', line), line)
      t.match(given, /403|ended with 1|BEGIN CERTIFICATE/)
    }
    t.equal((await ready(3)).claimed, claimed + 1)
    for (const name of ['held', 'held-made']) await host.call('DELETE', `/v0/sandboxes/${name}`)
  })

  t.test('killed while it gives machines away, the next start finishes it and leaves nothing over', async t => {
    await ready(3)
    const names = ['k1', 'k2', 'k3', 'k4']
    await Promise.all(names.map(name => create(name)))
    await host.kill()
    await host.start()
    for (const name of names) t.equal(await run(name, 'hostname; echo $MINE'), `${name}\n${name}\n`)
    await ready(3)
    for (const name of names) await host.call('DELETE', `/v0/sandboxes/${name}`)
    for (const name of names) await host.until(name, (body, status) => status === 404 || body.status === 'TERMINATED')
    const left = readdirSync(join(host.dataDir, 'machines'))
    t.equal(left.length, 3, 'the pool’s')
  })
}
