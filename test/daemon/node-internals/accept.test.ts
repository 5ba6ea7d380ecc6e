import { execFile } from 'node:child_process'
import { once } from 'node:events'

import { connect, createServer } from 'node:net'
import { openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { listenTcp } from '../../../daemon/native/descriptors/descriptors.ts'
import { createNodeInternals } from '../../../daemon/node-internals/index.ts'
import { accepting } from '../../../shared/http/listen.ts'
import '../../support/native.ts'

for (const off of [new Set<never>(), new Set(['accept'] as const)]) {
  const { accept } = createNodeInternals(off)
  const how = off.size > 0 ? 'switched off' : 'on'

  t.test(`accept: a server accepts on a socket that listens already (${how})`, async t => {
    const { fd, port } = listenTcp(0, '127.0.0.1')
    const server = createServer(socket => socket.end('hello'))
    t.teardown(() => server.close())
    await accepting(server, () => accept(server, fd))
    t.match(server.address(), { port })
    t.equal(server.listening, true)
    const [said] = await once(connect(port, '127.0.0.1'), 'data')
    t.equal(String(said), 'hello')
    const { listening } = server
    server.close()
    await once(server, 'close')
    t.strictSame([listening, server.listening], [true, false])
  })

  t.test(`accept: what is no socket is refused (${how})`, async t => {
    const server = createServer()
    const file = openSync(fileURLToPath(import.meta.url), 'r')
    await t.rejects(
      accepting(server, () => accept(server, file)),
      { code: 'EINVAL' },
    )
  })
}

t.test('accept: a server of node has what is called, and nothing of clusters is loaded', async t => {
  const script = `
    const { acceptAlone } = await import(${JSON.stringify(new URL('../../../daemon/node-internals/accept.ts', import.meta.url).href)})
    const { accepting } = await import(${JSON.stringify(new URL('../../../shared/http/listen.ts', import.meta.url).href)})
    const { listenTcp } = await import(${JSON.stringify(new URL('../../../daemon/native/descriptors/descriptors.ts', import.meta.url).href)})
    const server = (await import('node:net')).createServer()
    await accepting(server, () => acceptAlone(server, listenTcp(0, '127.0.0.1').fd))
    server.close()
    console.log(process.moduleLoadList.filter(name => /^NativeModule (cluster|child_process)$/.test(name)).join())`
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', '--input-type=module', '-e', script])
  t.equal(stdout, '\n')
})
