/** What the daemon of a real sandbox shows of itself to requests, under each kernel that machines have. */
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'

for (const runtime of ['runc', 'runsc'] as const)
  t.test(
    `the memory and the environment of the daemon are no files: ${runtime}`,
    { skip: whyNoMachines(runtime) ?? false },
    async t => {
      const s = await server(t, { HUTCH_RUNTIME: runtime })
      await s.call('POST', '/v0/sandboxes', {
        metadata: { name: 'own' },
        spec: { runtime: { image: 'busybox', memory: 256 } },
      })
      const read = async (path: string) =>
        (await s.call('GET', `/default/sandboxes/own/filesystem/${encodeURIComponent(`/proc/${path}`)}`)).status
      for (const name of ['maps', 'smaps', 'numa_maps', 'mem', 'environ', 'stat'])
        for (const who of ['self', '1', 'thread-self', '1/task/1'])
          t.match(await read(`${who}/${name}`), /^(422|404|500)$/, `${who}/${name}`)
      for (const name of ['status', 'cmdline', 'mountinfo']) t.equal(await read(`self/${name}`), 200, name)
      await s.call('DELETE', '/v0/sandboxes/own')
    },
  )
