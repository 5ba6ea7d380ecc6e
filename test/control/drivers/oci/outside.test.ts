import { execFileSync, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { failureToBound } from '../../../../control/drivers/oci/net/connections.ts'
import { earlierOutput, filesOf, outputsDir } from '../../../../control/drivers/oci/layout.ts'
import { earlierOutputTrimmer, outputTrimmer } from '../../../../control/drivers/oci/trim-outputs.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { makeKit, openBox, sh, type Box } from '../../../support/oci.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoMachines())
const kit = makeKit(t.testdir())
const ip = (...args: string[]) => execFileSync('ip', args)

/** A host beyond this one, in a namespace of its own, at an address of TEST-NET-2; answers with whom it sees. */
const outside = async (t: Test, { names }: Box): Promise<{ here: string; there: string; port: number }> => {
  const third = (Number.parseInt(names.tag, 16) % 64) * 4
  const [here, there] = [`198.51.100.${third + 1}`, `198.51.100.${third + 2}`]
  const [netns, link] = [`out-${names.tag}`, `o${names.tag}`]
  ip('netns', 'add', netns)
  t.teardown(() => ip('netns', 'del', netns))
  ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', netns)
  ip('addr', 'add', `${here}/30`, 'dev', link)
  ip('link', 'set', link, 'up')
  ip('-n', netns, 'addr', 'add', `${there}/30`, 'dev', 'eth0')
  ip('-n', netns, 'link', 'set', 'eth0', 'up')
  // No route back to the machines: only what leaves under the host's own address gets an answer.
  const program = `require('net').createServer(s => s.end(s.remoteAddress + '\\n'))
    .listen(0, function () { console.log(this.address().port) })`
  const child = spawn('ip', ['netns', 'exec', netns, process.execPath, '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  for await (const line of createInterface(child.stdout)) return { here, there, port: Number(line) }
  throw new Error('the host outside did not start')
}

t.test('a machine reaches the outside under the address of the host, and nobody outside reaches it', async t => {
  const box = await openBox(t, kit)
  const { here, there, port } = await outside(t, box)
  const machine = await box.driver.create(box.spec('a'))
  const answer = await sh(machine, `nc -w 40 ${there} ${port}`)
  t.match(answer.out.replace('::ffff:', ''), here)
  const { host } = machine.address as { host: string }
  ip('-n', `out-${box.names.tag}`, 'route', 'add', 'default', 'via', here)
  const knock = spawn('ip', ['netns', 'exec', `out-${box.names.tag}`, 'busybox', 'nc', '-w', '2', host, '8080'], {
    stdio: 'ignore',
  })
  const code = await new Promise(resolve => knock.once('exit', resolve))
  t.not(code, 0, 'a new connection from outside is dropped')
})

t.test('one machine cannot use up the connections of the box', async t => {
  const box = await openBox(t, kit, { settings: { slotsAhead: 1 } })
  const refused = () =>
    /^\s*(\d+) .*DROP.*#conn src\/32 > 4096/m.exec(
      execFileSync('iptables', ['-w', '10', '-vxnL', box.names.chain], { encoding: 'utf8' }),
    )?.[1]
  if (await failureToBound('connections', systemClock())) {
    t.pass('this kernel cannot count them')
    return
  }
  const { here, there, port } = await outside(t, box)
  const [machine, neighbour] = await Promise.all(['a', 'b'].map(name => box.driver.create(box.spec(name))))
  if (!machine || !neighbour) throw new Error('there are two')
  const flood = `const socket = require('dgram').createSocket('udp4'); let left = 6000
    for (let port = 1; port <= 6000; port++) socket.send('x', port, '${there}', () => --left || socket.close())`
  const node = '/.hutch/lib/ld-linux* --library-path /.hutch/lib /.hutch/bin/node'
  t.equal((await sh(machine, `${node} -e "${flood}"`)).code, 0)
  t.ok(Number(refused()) >= 1_000, 'what was too many was dropped')
  t.match((await sh(neighbour, `nc -w 40 ${there} ${port}`)).out, here, 'a neighbour is connected all the same')
})

t.test('a private network is open when the operator allows it', async t => {
  const box = await openBox(t, kit, { settings: { slotsAhead: 1, allowNetworks: ['192.168.77.0/24'] } })
  const rules = execFileSync('iptables-save', ['-t', 'filter'], { encoding: 'utf8' }).split('\n')
  const at = (rule: string) => rules.indexOf(`-A ${box.names.chain} ${rule}`)
  t.ok(at('-d 192.168.77.0/24 -j ACCEPT') > at('-d 169.254.0.0/16 -j DROP'))
  t.ok(at('-d 192.168.77.0/24 -j ACCEPT') < at('-d 192.168.0.0/16 -j DROP'))
  t.ok(at('-d 10.89.0.0/16 -j DROP') > 0 && at('-d 10.89.0.0/16 -j DROP') < at('-d 192.168.77.0/24 -j ACCEPT'))
})

t.test('the output of a daemon is cut when it has grown large, and goes on', async t => {
  const box = await openBox(t, kit)
  const machine = await box.driver.create(box.spec('a'))
  const { output, dir } = filesOf(box.dataDir, 'a')
  t.equal(existsSync(output), true)
  const add = (bytes: number) => writeFileSync(output, Buffer.alloc(bytes), { flag: 'a' })
  const trim = outputTrimmer(outputsDir(box.dataDir))
  add(1024 * 1024 + 1)
  await trim()
  t.equal(statSync(output).size, 0)
  const { host, port } = machine.address as { host: string; port: number }
  await (await fetch(`http://${host}:${port}/say`, { method: 'POST', body: 'still here\n' })).text()
  t.equal(statSync(output).size, 'still here\n'.length)
  // Beyond its end, where no size tells of it.
  execFileSync('fallocate', ['--keep-size', '--length', '2M', output])
  await trim()
  t.equal(statSync(output).blocks, 0)
  for (let turn = 0; turn < 3; turn++) {
    add(400 * 1024)
    await trim()
  }
  t.equal(statSync(output).size, 0, 'little by little')
  const other = join(outputsDir(box.dataDir), 'b.log')
  writeFileSync(other, Buffer.alloc(1024 * 1024))
  add(1)
  await trim()
  rmSync(other)
  add(1024 * 1024)
  await trim()
  t.ok(statSync(output).size > 0)
  for (let turn = 0; turn < 30; turn++) await trim()
  t.equal(statSync(output).size, 0, 'also where another one went meanwhile, which hides it')
  const earlier = earlierOutput({ dir })
  const addEarlier = () => writeFileSync(earlier, Buffer.alloc(1024 * 1024 + 1))
  addEarlier()
  const trimEarlier = earlierOutputTrimmer(box.dataDir)
  await trimEarlier()
  t.equal(statSync(earlier).size, 0, 'that of a machine that runs since a version before')
  addEarlier()
  await trimEarlier()
  t.equal(statSync(earlier).size, 0, 'again')
  rmSync(earlier)
  await box.driver.remove('a')
  t.notOk(existsSync(output))
})
