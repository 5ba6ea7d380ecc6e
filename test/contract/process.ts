/** Section 1.10: start, wait, restart, stop, kill, list, logs. */
import type { Test } from 'tap'
import { ask, fresh, run, started, until, type Target } from './target.ts'

const stamp = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

const starting = async (t: Test, target: Target): Promise<void> => {
  const get = (id: string) => ask(target, 'GET', `/process/${id}`)

  await t.test('started without waiting', async t => {
    const name = fresh('async')
    const { status, body } = await started(t, target, { command: 'sleep 300', name, cwd: '/ignored' })
    t.equal(status, 200)
    t.match(body, { pid: /^\d+$/, name, command: 'sleep 300', status: 'running', startedAt: stamp })
    t.match(body, { completedAt: '', exitCode: 0, logs: null, stdout: '', stderr: '', keepAlive: false })
    t.match(body, { restartOnFailure: false, maxRestarts: 0, restartCount: 0, workingDir: String })
    t.equal((await get(body.pid)).body.name, name)
    t.equal((await get(name)).body.pid, body.pid)
    const list = (await ask(target, 'GET', '/process')).body
    t.equal(list.filter((entry: { name: string }) => entry.name === name).length, 1)
    t.match(await ask(target, 'DELETE', `/process/${name}`), {
      status: 200,
      body: { message: 'Process stopped successfully' },
    })
    t.equal((await get(name)).body.status, 'stopped', 'at once')
    await until('its end', async () => (await get(name)).body.completedAt !== '')
    t.match((await get(name)).body, { status: 'stopped', completedAt: stamp, exitCode: -1 })
    t.equal((await ask(target, 'DELETE', `/process/${name}`)).status, 404, 'it does not run')
    t.match((await started(t, target, { command: 'true' })).body, { name: /^proc-[a-z0-9]{8}$/ })
  })

  await t.test('waited for', async t => {
    t.match(await run(target, 'echo hello world'), {
      status: 'completed',
      exitCode: 0,
      logs: 'hello world\n',
      stdout: 'hello world\n',
      stderr: '',
      completedAt: stamp,
    })
    const failed = await ask(target, 'POST', '/process', {
      body: { command: "sh -c 'exit 42'", waitForCompletion: true },
    })
    t.match(failed, { status: 200, body: { status: 'failed', exitCode: 42 } })
    t.match(await run(target, 'echo out; echo err >&2'), { stdout: 'out\n', stderr: 'err\n', logs: 'out\nerr\n' })
  })

  await t.test('a shell runs it', async t => {
    const ok = [
      'cd',
      'cd /tmp',
      'export A=b',
      'alias x=y',
      'type ls',
      'f() { true; }; f',
      'true && ! false | cat; true',
    ]
    for (const command of ok) t.match(await run(target, command), { exitCode: 0 }, command)
    t.equal((await run(target, `printf '%s' "a 'b' \\"c\\""`)).stdout, `a 'b' "c"`)
    t.match((await run(target, 'echo "$HOME $(date +%Y)"')).stdout, /^\/\S* 2\d{3}\n$/)
    t.equal((await run(target, `sh -c 'sh -c "echo nested"'`)).stdout, 'nested\n')
    t.equal((await run(target, 'sleep 1 & echo done')).stdout, 'done\n')
    t.equal((await run(target, 'cat')).stdout, '', 'input is empty')
  })

  await t.test('its environment and directory', async t => {
    const env = { CUSTOM: 'a b', HOME: '/nowhere', PATH: '/usr/bin:/bin' }
    t.equal((await run(target, 'echo "$CUSTOM|$HOME|$PATH"', { env })).stdout, 'a b|/nowhere|/usr/bin:/bin\n')
    t.equal((await run(target, 'env | grep -c ^PATH=', { env })).stdout, '1\n')
    t.match(await run(target, 'true', { env: null }), { exitCode: 0 })
    t.match(await run(target, 'pwd', { workingDir: '/tmp' }), { stdout: '/tmp\n', workingDir: '/tmp' })
    for (const workingDir of ['/no/such', 'no-such-dir']) {
      const { status, body } = await ask(target, 'POST', '/process', { body: { command: 'ls -la', workingDir } })
      t.equal(status, 422)
      for (const word of ['could not execute command', 'ls -la', workingDir, 'does not exist'])
        t.ok(body.error.includes(word), `${word} in ${body.error}`)
    }
  })

  await t.test('what is refused', async t => {
    t.equal((await ask(target, 'POST', '/process', { body: {} })).status, 400)
    t.equal((await ask(target, 'POST', '/process', { body: { command: '' } })).status, 400)
    t.equal((await ask(target, 'POST', '/process', { body: { command: 'true', name: 'a/b' } })).status, 400)
    t.equal((await get('no-such')).status, 404)
    for (const path of ['/process/no-such', '/process/no-such/kill', '/process/999999'])
      t.equal((await ask(target, 'DELETE', path)).status, 404, path)
    t.equal((await ask(target, 'GET', '/process/no-such/logs')).status, 404)
    t.equal((await ask(target, 'GET', '/process/no-such/logs/stream')).status, 404)
  })
}

const ending = async (t: Test, target: Target): Promise<void> => {
  const get = (id: string) => ask(target, 'GET', `/process/${id}`)

  await t.test('a name belongs to one running process and is free afterwards', async t => {
    const name = fresh('name')
    await started(t, target, { command: 'sleep 300', name })
    const again = await started(t, target, { command: 'sleep 300', name })
    t.match(again, { status: 400, body: { error: /already exists and is running/ } })
    t.match(await ask(target, 'DELETE', `/process/${name}/kill`), {
      status: 200,
      body: { message: 'Process killed successfully' },
    })
    await until('killed', async () => (await get(name)).body.status === 'killed')
    t.match(await run(target, 'echo new', { name }), { stdout: 'new\n', logs: 'new\n' })
    t.equal(
      (await ask(target, 'GET', `/process/${name}/logs/stream`)).text,
      'stdout:new\n',
      'nothing of the earlier run',
    )
  })

  await t.test('children are killed with it', async t => {
    const name = fresh('family')
    await started(t, target, { command: 'sleep 301 & echo $!; wait', name })
    const child = await until('the child', async () => (await get(name)).body.stdout.trim() || undefined)
    await ask(target, 'DELETE', `/process/${name}/kill`)
    // Who adopts it may take its time to reap it.
    await until('its end', async () =>
      /^(gone|Z|X)$/m.test((await run(target, `cut -d' ' -f3 /proc/${child}/stat 2>/dev/null || echo gone`)).stdout),
    )
    t.pass('the grandchild is gone')
  })

  await t.test('a wait that takes too long is 422, and the process goes on', async t => {
    const name = fresh('late')
    const { status, body } = await started(t, target, {
      command: 'sleep 300',
      name,
      waitForCompletion: true,
      timeout: 1,
    })
    t.equal(status, 422)
    t.match(body.error, /timed out/)
    t.match((await get(name)).body, { status: 'running' })
    t.equal((await ask(target, 'DELETE', `/process/${name}/kill`)).status, 200)
  })

  await t.test('keepAlive with a timeout is killed then', async t => {
    const name = fresh('kept')
    const { body } = await started(t, target, { command: 'sleep 300', name, keepAlive: true, timeout: 1 })
    t.match(body, { status: 'running', keepAlive: true })
    await until('its end', async () => (await get(name)).body.status === 'killed')
    t.match((await get(name)).body, { keepAlive: false, exitCode: -1 })
  })

  await t.test('restarted on failure', async t => {
    const name = fresh('again')
    const request = { name, restartOnFailure: true, maxRestarts: 2, env: { TOLD: 'yes' } }
    const body = await run(target, 'echo "run $TOLD"; exit 1', request)
    t.match(body, { name, status: 'failed', exitCode: 1, restartCount: 2 })
    t.equal(body.stdout.match(/run yes/g).length, 3)
    for (const attempt of ['1/2', '2/2'])
      t.ok(body.logs.includes(`[Process failed with exit code 1. Attempting restart ${attempt}...]`))
    const list = (await ask(target, 'GET', '/process')).body
    t.equal(list.filter((entry: { pid: string }) => entry.pid === body.pid).length, 1, 'one process, one pid')
    t.match(await run(target, 'true', { restartOnFailure: true, maxRestarts: 3 }), { restartCount: 0 })
    const flag = `${target.scratch}/${fresh('flag')}`
    const second = `[ -e ${flag} ] || { touch ${flag}; exit 1; }`
    t.match(await run(target, second, { restartOnFailure: true, maxRestarts: -1 }), {
      status: 'completed',
      restartCount: 1,
      logs: /Attempting restart 1\/unlimited/,
    })
  })
}

const logs = async (t: Test, target: Target): Promise<void> => {
  await t.test('logs are exact and whole', async t => {
    const { pid } = await run(target, 'echo out; echo err >&2')
    t.match(await ask(target, 'GET', `/process/${pid}/logs`), {
      status: 200,
      body: { stdout: 'out\n', stderr: 'err\n', logs: 'out\nerr\n' },
    })
  })

  await t.test('much output is whole in logs, a marked tail in the list', async t => {
    const { pid } = await run(target, "head -c 204800 /dev/zero | tr '\\0' x; echo end")
    const whole = (await ask(target, 'GET', `/process/${pid}/logs`)).body.stdout
    t.equal(whole.length, 204_804)
    const tail = (await ask(target, 'GET', `/process/${pid}`)).body.stdout
    t.match(tail, /^\[\.\.\. truncated[^\n]*\n/)
    t.match(tail, /xend\n$/)
    t.ok(tail.length < 70_000)
  })
}

export const processes = async (t: Test, target: Target): Promise<void> => {
  await starting(t, target)
  await ending(t, target)
  await logs(t, target)
}
