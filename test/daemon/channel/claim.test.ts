/** A daemon that was started for nobody and becomes somebody's. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { daemonAt } from '../../../control/core/channel/client.ts'
import { readPath } from '../../../shared/wire/filesystem.ts'
import { claim, configure, showIdentity } from '../../../shared/wire/host.ts'
import { listProcesses, startProcess } from '../../../shared/wire/process.ts'
import { health } from '../../../shared/wire/system.ts'
import { keyedDaemon } from '../../support/keyed.ts'

const bounds = { timeoutMs: 60_000, maxBytes: 1024 * 1024 }

t.test('it begins anew by what it is told, once, and only the host can tell it', async t => {
  const started = await keyedDaemon(t, { anonymous: true, environment: { OLD: 'yes', SANDBOX_MERGED_CA_PATH: '' } })
  const { connections, address, dir, said } = started
  const [host, client] = (['host', 'client'] as const).map(role => daemonAt(connections, address, role, bounds))
  if (!host || !client) throw new Error('no clients')
  const first = join(dir, 'logs')
  const echo = { command: 'echo "$OLD/$NEW/$USER/$SVC_NAME/$PWD"', workingDir: '/', waitForCompletion: true }
  t.match(await host.ask(startProcess, { body: echo }), { logs: /^yes\/\// })
  t.ok(existsSync(first))
  const environment = {
    PATH: process.env['PATH'] ?? '',
    NEW: 'new',
    SVC_NAME: 'named',
    SVC_SANDBOX_USER: 'nobody',
    SVC_SANDBOX_USER_ENABLED: 'true',
    WORKDIR: '/',
    SANDBOX_LOG_DIR: join(dir, 'other'),
  }
  await t.rejects(client.ask(claim, { body: { environment } }), { code: 'forbidden' }, 'a client of the gateway')
  await t.rejects(host.ask(claim, { body: { environment: { 'A=B': '' } } }), { code: 'invalid_argument' })
  t.match(await host.ask(startProcess, { body: echo }), { logs: /^yes\/\// }, 'it is nobody’s still')
  await host.ask(claim, { body: { environment } })
  t.match(await host.ask(startProcess, { body: echo }), { logs: '/new/nobody/named//\n' }, 'as if started with it')
  t.notOk(existsSync(first), 'nothing of the time before is left')
  const { uptimeSeconds } = await host.ask(health)
  t.ok(uptimeSeconds < 60)
  t.match(said(), /daemon\.claimed".*"anew":true/)
  t.same(started.unsealed(), [], 'what it keeps is sealed as before')
  await t.rejects(host.ask(claim, { body: { environment } }), { code: 'wrong_state' })
  t.match(await host.ask(startProcess, { body: echo }), { logs: '/new/nobody/named//\n' })
})

t.test(
  'what a daemon follows while it runs is told to the one that there is, which is as one that has just started',
  async t => {
    const started = await keyedDaemon(t, { anonymous: true, environment: { OLD: 'yes', SVC_NAME: 'nobody' } })
    const { connections, address, dir, said } = started
    const host = daemonAt(connections, address, 'host', bounds)
    t.notMatch(said(), /unpractised/, 'it has practised all of it')
    t.notOk(existsSync(join(dir, 'state/practice')), 'and nothing is left of that')
    t.same(await host.ask(listProcesses), [])
    const before = await host.ask(health)
    await new Promise(resolve => setTimeout(resolve, 1_100))
    const environment = { PATH: process.env['PATH'] ?? '', HOME: dir, WORKDIR: dir, TMPDIR: dir, NEW: 'new' }
    const identity = { name: 'named', workspace: 'w', workspaceId: 'w-1', labels: { a: 'b' } }
    const user = { SVC_SANDBOX_USER: 'nobody', SVC_SANDBOX_USER_ENABLED: 'true' }
    await host.ask(claim, { body: { environment: { ...environment, ...user, SVC_NAME: 'named' }, identity } })
    const command = 'echo "$OLD/$NEW/$USER/$SVC_NAME"'
    const echo = { command, workingDir: '/', waitForCompletion: true }
    t.match(await host.ask(startProcess, { body: echo }), { logs: '/new/nobody/named\n' })
    t.match(await host.ask(showIdentity), { ...identity, user: 'nobody' })
    const after = await host.ask(health)
    t.ok(after.uptimeSeconds < before.uptimeSeconds + 1, 'its time begins when it becomes somebody’s')
    t.not(after.startedAt, before.startedAt)
    t.equal((said().match(/daemon.listening/g) ?? []).length, 1)
    t.match(said(), /daemon\.claimed".*"anew":false/, 'it is not made anew')
    t.same(started.unsealed(), [])
    await t.rejects(host.ask(claim, { body: { environment } }), { code: 'wrong_state' })
  },
)

t.test('what it is told of its memory it goes by from then on, however much the system has', async t => {
  const { connections, address, dir, said } = await keyedDaemon(t, { anonymous: true })
  const host = daemonAt(connections, address, 'host', bounds)
  const environment = { PATH: process.env['PATH'] ?? '', HOME: dir, WORKDIR: dir, TMPDIR: dir }
  await host.ask(claim, { body: { environment, memoryBytes: 2 ** 29 } })
  t.match(said(), /daemon\.claimed".*"anew":false/)
  const { unapplied } = await host.ask(configure, { body: { environment: { ...environment, NEW: 'new' } } })
  t.same(unapplied, [], 'nothing that follows the memory has changed')
})

t.test('where relative paths begin is said by a claim, and by nothing that is said later', async t => {
  const { connections, address, dir, said } = await keyedDaemon(t, { anonymous: true })
  const host = daemonAt(connections, address, 'host', bounds)
  const [work, other] = [join(dir, 'work'), join(dir, 'other')] as const
  for (const path of [work, other]) mkdirSync(path)
  const environment = { PATH: process.env['PATH'] ?? '', HOME: dir, TMPDIR: dir }
  await host.ask(claim, { body: { environment: { ...environment, WORKDIR: work } } })
  t.match(said(), /daemon\.claimed".*"anew":false/)
  const look = async () => {
    const list = { command: 'pwd', waitForCompletion: true }
    t.match(await host.ask(startProcess, { body: list }), { logs: `${work}\n` })
    t.match(await host.ask(startProcess, { body: { ...list, workingDir: 'in' } }), { logs: `${work}/in\n` })
    t.match(await host.ask(readPath, { params: { path: 'in/file' } }), { content: 'text' })
  }
  mkdirSync(join(work, 'in'))
  writeFileSync(join(work, 'in/file'), 'text')
  await look()
  const { unapplied } = await host.ask(configure, { body: { environment: { ...environment, WORKDIR: other } } })
  t.same(unapplied, ['workdir'])
  await look()
})

t.test('what is somebody’s cannot be claimed', async t => {
  const { connections, address } = await keyedDaemon(t)
  const host = daemonAt(connections, address, 'host', bounds)
  await t.rejects(host.ask(claim, { body: { environment: {} } }), { code: 'wrong_state' })
})
