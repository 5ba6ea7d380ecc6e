/** A daemon that was started for nobody and becomes somebody's. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { daemonAt } from '../../../control/channel/client.ts'
import { claim } from '../../../shared/wire/host.ts'
import { startProcess } from '../../../shared/wire/process.ts'
import { health } from '../../../shared/wire/system.ts'
import { keyedDaemon } from '../../support/keyed.ts'

const bounds = { timeoutMs: 60_000 }

t.test('it begins anew by what it is told, once, and only the host can tell it', async t => {
  const started = await keyedDaemon(t, { anonymous: true, environment: { OLD: 'yes', SANDBOX_MERGED_CA_PATH: '' } })
  const { connections, address, dir } = started
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
  await t.rejects(host.ask(claim, { body: { environment } }), { code: 'wrong_state' })
  t.match(await host.ask(startProcess, { body: echo }), { logs: '/new/nobody/named//\n' })
})

t.test('what is somebody’s cannot be claimed', async t => {
  const { connections, address } = await keyedDaemon(t)
  const host = daemonAt(connections, address, 'host', bounds)
  await t.rejects(host.ask(claim, { body: { environment: {} } }), { code: 'wrong_state' })
})
