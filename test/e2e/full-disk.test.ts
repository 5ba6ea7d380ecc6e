/** A sandbox whose disk is full, on a real machine: what is lost is said, and what frees room works. */
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

const lost = /\[The disk was full while this process ran: output may be missing\]\n$/

t.test('output that found no room is said to be missing', async t => {
  const s = await server(t)
  const runtime = { image: 'busybox', memory: 256, storageMb: 128 }
  await s.call('POST', '/v0/sandboxes', { metadata: { name: 'full' }, spec: { runtime } })
  const run = async (command: string) =>
    (await s.call('POST', '/default/sandboxes/full/process', { command, waitForCompletion: true })).body
  t.match(await run('cat /etc/hostname'), { exitCode: 0, logs: 'full\n', stderr: '', outputIncomplete: undefined })
  await run('mkdir -p /root; dd if=/dev/zero of=/root/fill bs=64k 2> /dev/null')
  // Some blocks are left for the first ones: each answer is whole, or says that it may not be.
  let missing = 0
  for (let count = 0; count < 40 && missing < 3; count++) {
    const { exitCode, stdout, stderr, logs, outputIncomplete } = await run('echo hello; true')
    t.equal(exitCode, 0)
    if (stdout === 'hello\n') continue
    missing++
    t.match(
      { stdout, stderr, logs, outputIncomplete },
      { stdout: '', stderr: lost, logs: lost, outputIncomplete: true },
    )
  }
  t.equal(missing, 3)
  t.equal((await s.call('DELETE', '/default/sandboxes/full/filesystem//root/fill')).status, 200)
  t.match(await run('echo again'), { exitCode: 0, logs: 'again\n', outputIncomplete: undefined })
  await s.call('DELETE', '/v0/sandboxes/full')
})
