/** A sandbox is saved, forked, taken back, and outlived by its snapshots: a real server, real machines. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { server, type Server } from '../support/server.ts'
import { until } from '../support/until.ts'

const run = async (s: Server, name: string, command: string): Promise<string> => {
  const { status, body, text } = await s.call('POST', `/default/sandboxes/${name}/process`, {
    command,
    waitForCompletion: true,
  })
  if (status !== 200) throw new Error(`${name}: ${command}: ${status} ${text}`)
  return body.logs
}

const up = (s: Server, name: string) => s.until(name, body => body.status === 'DEPLOYED')

const create = async (s: Server, name: string, spec: object = {}) => {
  const answer = await s.call('POST', '/v0/sandboxes', {
    metadata: { name },
    spec: { runtime: { image: 'busybox', memory: 256 }, ...spec },
  })
  if (answer.status !== 200) throw new Error(answer.text)
  return up(s, name)
}

const filesOf = (s: Server): string[] => readdirSync(join(s.dataDir, 'snapshots'))

const scene = async (t: Test): Promise<void> => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '600' })
  await create(s, 'web', {
    runtime: {
      image: 'busybox',
      memory: 256,
      envs: [
        { name: 'TOKEN', value: 'sealed', secret: true },
        { name: 'A', value: '1' },
      ],
    },
    network: {
      proxy: {
        routing: [
          {
            destinations: ['api.example.com'],
            headers: { authorization: 'Bearer {{SECRET:key}}' },
            secrets: { key: 'proxy-secret' },
          },
        ],
      },
    },
  })
  await run(s, 'web', 'mkdir /src && echo one > /src/file && echo more > /src/more')

  const took = await s.call('POST', '/v0/sandboxes/web/snapshots', { name: 'first' })
  t.match(took, {
    status: 200,
    body: {
      id: /^snap_[a-z0-9]{16}$/,
      name: 'first',
      status: 'ready',
      sandboxName: 'web',
      workspace: 'default',
      mode: 'files',
    },
  })
  t.match(took.body, {
    pauseMs: Number,
    bytes: Number,
    source: { kind: 'sandbox', name: 'web', deleted: false },
    spec: { image: 'busybox', memory: 256 },
  })
  t.ok(took.body.bytes > 0)
  t.match(await s.call('POST', '/v0/snapshots', { name: 'first', source: { name: 'web' } }), {
    status: 409,
    body: { error: 'already_exists' },
  })
  t.match(await s.call('POST', '/v0/snapshots', { source: { name: 'none' } }), { status: 404 })
  t.match(await s.call('POST', '/v0/sandboxes/web/snapshots', { mode: 'memory' }), {
    status: 400,
    body: { error: 'not_available' },
  })
  t.match(await s.call('GET', '/v0/sandboxes/web/snapshots'), { status: 200, body: [{ name: 'first' }] })
  t.match(await s.call('GET', `/v0/snapshots/${took.body.id}`), { status: 200, body: { name: 'first' } })

  await t.test('three forks: same files, independent writes, an identity each, no secret of the proxy', async t => {
    const forked = await s.call('POST', '/v0/sandboxes/web/fork', {
      targetType: 'sandbox',
      targetName: 'fork',
      count: 3,
      envs: [{ name: 'A', value: '2' }],
    })
    t.same(forked.body.results, [{ name: 'fork-1' }, { name: 'fork-2' }, { name: 'fork-3' }], forked.text)
    const names = ['web', 'fork-1', 'fork-2', 'fork-3']
    for (const name of names) await up(s, name)
    const ids = await Promise.all(names.map(name => run(s, name, 'cat /etc/machine-id')))
    t.equal(new Set(ids).size, 4, 'four machine ids')
    t.match(ids[0], /^[0-9a-f]{32}\n$/)
    const seen = await Promise.all(names.map(name => run(s, name, 'hostname; cat /src/file; echo $A $TOKEN')))
    t.same(
      seen,
      names.map(name => `${name}\none\n${name === 'web' ? '1' : '2'} sealed\n`),
    )
    await Promise.all(names.map(name => run(s, name, `echo ${name} > /src/file`)))
    t.same(
      await Promise.all(names.map(name => run(s, name, 'cat /src/file'))),
      names.map(name => `${name}\n`),
    )
    t.match(JSON.parse(await run(s, 'fork-1', 'cat /etc/hutch-fork')), { source: 'web', snapshot: /^snap_/ })
    t.equal(
      (await run(s, 'fork-1', 'grep -rl proxy-secret /etc /root /src /proc/self/environ; true')).trim(),
      '',
      'no secret of the proxy inside',
    )
    t.match(
      (await s.call('GET', '/v0/sandboxes/fork-1')).body.spec,
      { network: { proxy: { routing: [{ destinations: ['api.example.com'] }] } } },
      'held as its source',
    )
    t.match(await s.call('POST', '/v0/sandboxes/web/fork', { targetType: 'sandbox', targetName: 'fork-1' }), {
      status: 409,
    })
  })

  await t.test('a restore takes it back', async t => {
    await run(s, 'web', 'rm -rf /src; echo lost > /lost')
    const restored = await s.call('POST', `/v0/sandboxes/web/snapshots/${took.body.id}/restore`)
    t.match(restored, { status: 200, body: { name: 'web', snapshotId: took.body.id } }, restored.text)
    t.equal(
      await run(s, 'web', 'cat /src/file /src/more; ls /lost 2>&1; hostname'),
      'one\nmore\nls: /lost: No such file or directory\nweb\n',
    )
    t.match(await s.call('POST', '/v0/sandboxes/web/snapshots/snap_none/restore'), { status: 404 })
  })

  await t.test('it outlives its source, and the server', async t => {
    await s.call('DELETE', '/v0/sandboxes/web')
    await s.until('web', (body, status) => status === 404 || body.status === 'TERMINATED')
    await until(
      async () => (await s.call('GET', '/v0/snapshots/first')).body.source.deleted,
      'the source to be known as gone',
    )
    await s.kill()
    await s.start()
    t.match(await s.call('GET', '/v0/snapshots/first'), { body: { status: 'ready', bytes: took.body.bytes } })
    const made = await s.call('POST', '/v0/sandboxes', { metadata: { name: 'again' }, spec: { fromSnapshot: 'first' } })
    t.match(
      made,
      { status: 200, body: { spec: { fromSnapshot: took.body.id, runtime: { image: 'busybox', memory: 256 } } } },
      made.text,
    )
    await up(s, 'again')
    t.equal(await run(s, 'again', 'cat /src/file'), 'one\n')
    t.match(await s.call('POST', '/v0/sandboxes', { spec: { fromSnapshot: 'none' } }), {
      status: 400,
      body: { message: /spec\.fromSnapshot/ },
    })
    t.match(await s.call('POST', '/v0/sandboxes', { spec: { fromSnapshot: 'first', runtime: { image: 'base' } } }), {
      status: 400,
      body: { message: /spec\.runtime\.image/ },
    })
    t.equal((await s.call('DELETE', '/v0/snapshots/first')).status, 204)
    t.equal((await s.call('GET', '/v0/snapshots/first')).status, 404)
    t.equal(await run(s, 'again', 'cat /src/file'), 'one\n', 'what was made of it stays')
    for (const { name } of (await s.call('GET', '/v0/snapshots')).body.data)
      await s.call('DELETE', `/v0/snapshots/${name}`)
    await until(async () => filesOf(s).length === 0, 'their files to go')
  })
}

const undoing = async (t: Test): Promise<void> => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '600' })
  await create(s, 'box')
  const at = '/default/sandboxes/box'
  const sums = () => run(s, 'box', 'find /src -type f | sort | xargs md5sum 2>/dev/null; readlink /src/link')
  const checkpointed = async (command: string): Promise<string> => {
    const answer = await s.call('POST', `${at}/process`, { command, waitForCompletion: true, checkpoint: true })
    t.match(answer, { status: 200, body: { checkpoint: /^cp_/, exitCode: 0 } }, answer.text)
    return answer.body.checkpoint
  }
  await run(
    s,
    'box',
    'mkdir -p /src/deep; echo one > /src/one; head -c 200000 /dev/urandom > /src/deep/two; ln -s one /src/link',
  )
  const before = await sums()
  t.equal(before.split('\n').length, 4)
  t.same((await s.call('GET', `${at}/checkpoints`)).body, [])
  t.match(await s.call('POST', `${at}/undo`, { restart: true }), { status: 409 }, 'nothing to undo')
  const first = await checkpointed('rm -rf /src; echo new > /new; echo changed > /etc/passwd')
  t.equal(
    (await s.call('POST', `${at}/process`, { command: 'true', waitForCompletion: true })).body.checkpoint,
    undefined,
  )
  t.match((await s.call('GET', `${at}/checkpoints`)).body, [
    { id: first, command: /^rm -rf/, processes: 'ended', bytes: Number },
  ])

  const diff = await s.call('GET', `${at}/checkpoints/${first}/diff?content=true`)
  t.equal(diff.status, 200, diff.text)
  t.same(
    diff.body.removed.map(({ path }: { path: string }) => path),
    ['/src', '/src/deep', '/src/deep/two', '/src/link', '/src/one'],
  )
  t.match(diff.body.added, [{ path: '/new', size: 4, type: 'file', after: 'new\n' }])
  t.match(
    diff.body.changed.filter(({ path }: { path: string }) => path === '/etc/passwd'),
    [{ after: 'changed\n' }],
  )
  t.match(diff.body.removed.at(-1), { before: 'one\n', size: 4 })
  t.equal(diff.body.truncated, false)
  t.match(await s.call('GET', `${at}/checkpoints/cp_none/diff`), { status: 404 })

  t.match(await s.call('POST', `${at}/undo`, {}), { status: 409, body: { error: /restart/ } }, 'it would end processes')
  t.match(await s.call('POST', `${at}/undo`, { restart: true }), {
    status: 200,
    body: { checkpoint: first, processes: 'ended' },
  })
  t.equal(await sums(), before, 'the checksums are back')
  t.equal(await run(s, 'box', 'ls /new 2>/dev/null; true'), '')
  t.match(await s.call('POST', `${at}/undo`, { restart: true }), { status: 409 }, 'there is nothing before')
  t.match(await s.call('POST', `${at}/redo`, { restart: true }), { status: 200 })
  t.equal(await run(s, 'box', 'cat /new; ls /src 2>/dev/null; true'), 'new\n')
  t.match(await s.call('POST', `${at}/redo`, { restart: true }), { status: 409 }, 'there is nothing after')
  t.match(await s.call('POST', `${at}/undo`, { restart: true, to: first }), { status: 200 })
  t.equal(await sums(), before)
  const second = await checkpointed('echo other > /other')
  t.same(
    (await s.call('GET', `${at}/checkpoints`)).body.map(({ id }: { id: string }) => id),
    [second, first],
  )
  t.match(
    await s.call('POST', `${at}/redo`, { restart: true }),
    { status: 409 },
    'what was undone before a command is gone',
  )
  await until(async () => filesOf(s).length === 2, 'its files to go')
  await s.call('DELETE', '/v0/sandboxes/box')
  await until(async () => filesOf(s).length === 0, 'checkpoints to go with their sandbox')
}

const why = whyNoMachines('runc')
if (why) t.pass(`skipped: ${why}`, { skip: why })
else {
  t.test('snapshots and forks', scene)
  t.test('undo, redo and diff', undoing)
}
