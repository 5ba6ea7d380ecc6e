/** What daemons are told of their machines. */
import t from 'tap'
import type { Connections } from '../../../control/core/channel/connections.ts'
import { bootDocumentOf } from '../../../control/drivers/oci/boot-document.ts'
import { claimDaemonBy } from '../../../control/core/machines/spare.ts'

const spec = {
  id: 'm',
  rootfs: '/image',
  hostname: 'box',
  memoryMb: 512,
  cpus: 1,
  workdir: '/',
  env: { A: 'b' },
  channel: { generation: 'g', key: 'k', sealKey: 's' },
}
const memoryBytes = 512 * 1024 * 1024

t.test('one that starts is told what its memory is bounded to', async t => {
  const document = bootDocumentOf(
    spec,
    { dir: '', port: 1, channelPort: 2 } as unknown as Parameters<typeof bootDocumentOf>[1],
    { gateway: '10.0.0.1' },
    [],
    undefined,
  )
  t.match(document, { machine: { id: 'm', memoryBytes } })
})

t.test('one that is claimed is told it, too', async t => {
  const bodies: unknown[] = []
  const connections = {
    questions: () => ({
      async request({ body }: { body: string }) {
        bodies.push(JSON.parse(body))
        throw new Error('heard')
      },
    }),
  } as unknown as Connections
  const address = { host: '10.0.0.2', port: 1, channel: { port: 2, machine: 'm', generation: 'g' } }
  await t.rejects(claimDaemonBy(connections)(address, spec), { message: /heard/ })
  t.match(bodies, [{ memoryBytes, environment: { A: 'b', WORKDIR: '/' } }])
})
