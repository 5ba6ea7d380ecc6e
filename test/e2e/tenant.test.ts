/** What root of a real sandbox can get at, through the real server, the real image and the real daemon. */
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

const program = readFileSync(new URL('../programs/tenant.py', import.meta.url), 'utf8')

t.test('root of a sandbox reaches nothing of the box, of the operator, of its neighbours', async t => {
  const s = await server(t, { HUTCH_HOST: '0.0.0.0' })
  const { port } = new URL(s.url)
  const make = async (name: string): Promise<string> => {
    const spec = { runtime: { image: 'svc/base-image:latest', memory: 512 } }
    return (await s.call('POST', '/v0/sandboxes', { metadata: { name }, spec })).body.metadata.url
  }
  const [url, neighbour] = await Promise.all([make('a'), make('b')])
  const run = async (at: string, command: string): Promise<{ exitCode: number; stdout: string; logs: string }> =>
    (await s.call('POST', `${at}/process`, { command, waitForCompletion: true, timeout: 120 })).body
  const gateway = (await run(url, "ip route | awk '/^default/ {print $3}'")).stdout.trim()
  const other = (await run(neighbour, "hostname -I | awk '{print $1}'")).stdout.trim()
  t.match([gateway, other], [/^10\.89\./, /^10\.89\./])
  const ours = Object.values(networkInterfaces())
    .flatMap(list => list ?? [])
    .filter(({ family, internal, address }) => family === 'IPv4' && !internal && !address.startsWith('10.89.'))
    .map(({ address }) => address)
  const forged = () =>
    Number(
      /^\s*(\d+)\s+\d+\s+DROP/m.exec(
        execFileSync('iptables', ['-w', '10', '-t', 'raw', '-vxnL', s.names.chain], { encoding: 'utf8' }),
      )?.[1],
    )
  const before = forged()
  const addresses = [
    ...[gateway, ...ours].map(host => `${host}:${port}`),
    `127.0.0.1:${port}`,
    `${other}:8080`,
    '169.254.169.254:80',
  ]
  const knocks = [...addresses, '127.0.0.1:8080'].join(' ')
  const form = new FormData()
  form.append('file', new Blob([program]), 'tenant.py')
  const put = await fetch(`${url}/filesystem//root/tenant.py`, {
    method: 'PUT',
    body: form,
    headers: { authorization: `Bearer ${s.key}` },
  })
  t.equal(put.status, 200)
  const answer = await run(url, `python3 /root/tenant.py ${knocks} ${gateway}`)
  t.equal(answer.exitCode, 0, answer.logs)
  const seen = JSON.parse(answer.stdout)

  for (const [name, error] of Object.entries(seen.calls)) t.equal(error, 'EPERM', `${name} is forbidden`)
  t.same(
    seen.families,
    [1, 2, 10, 16],
    'four families of sockets: no module is loaded for others, no raw frame passes the fences',
  )
  t.equal(seen.reached['127.0.0.1:8080'], true, 'its own daemon answers')
  const open = (answer: unknown) => answer === true || answer === 'EPROTONOSUPPORT'
  t.same(
    Object.keys(seen.netlinks).filter(number => open(seen.netlinks[number])),
    ['0', '4', '9', '12', '15', '16'],
    'netlink for networks and devices',
  )
  t.equal(seen.netlinks['9'], 'EPROTONOSUPPORT', 'as if the kernel kept no log')
  t.equal(seen.netlinks[String(2 ** 32 + 9)], 'EPERM', 'also by a number of which the kernel sees a part')
  for (const path of [s.dataDir, s.names.tag, '/bundles', 'rootfs', '.runtime'])
    t.notOk(seen.mounts.includes(path), `${path} is not in its table of mounts`)
  for (const address of addresses) t.equal(seen.reached[address], false, `${address} does not`)
  t.ok(forged() > before, 'a packet under a forged address was dropped on arrival')
  t.same(seen.daemon, [], 'nothing of the daemon is readable')
  t.same(seen.writable, [], 'nothing of the kernel is writable')
  t.same(
    seen.devices,
    ['full', 'mqueue', 'net', 'null', 'pts', 'random', 'shm', 'tty', 'urandom', 'zero'],
    'no device of the box',
  )
  t.equal((await s.call('GET', `${neighbour}/health`)).status, 200)
  // The host raises it, but a box within a box may not let it.
  if (Number(readFileSync('/proc/sys/fs/inotify/max_user_instances', 'utf8')) > 100_000) {
    t.equal(seen.watches, 400, 'what it takes of inotify')
    const watching = await run(neighbour, "python3 -c 'import ctypes; print(ctypes.CDLL(None).inotify_init() >= 0)'")
    t.equal(watching.stdout, 'True\n', 'its neighbours still have')
  }
  const outputs = readdirSync(join(s.dataDir, 'outputs')).map(name => join(s.dataDir, 'outputs', name))
  t.equal(outputs.length, 2)
  for (const output of outputs)
    t.notMatch(readFileSync(output, 'utf8'), /request\.done/, 'requests are not written to the box')
  for (const name of readdirSync('/sys/class/net').filter(link => link.startsWith(s.names.interfacePrefix)))
    t.equal(readFileSync(`/proc/sys/net/ipv6/conf/${name}/disable_ipv6`, 'utf8').trim(), '1', `${name} has no IPv6`)
})
