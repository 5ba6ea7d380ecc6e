/** The real program, killed in mid-sentence and started again as on a machine where it is not PID 1. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openGet, until } from '../../support/processes.ts'
import { realDaemon } from '../../support/real-daemon.ts'

// Untyped on purpose: single fields are looked at.
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any

const ask = async (
  url: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: Body }> => {
  const answer = await fetch(`${url}${path}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  return { status: answer.status, body: await answer.json() }
}

const stat = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    // ENOENT or ESRCH: its parent has taken note of its end.
    return 'gone'
  }
}

t.test(
  'kill -9: the next daemon adopts what runs, tells what it cannot know, and goes on with its policies',
  async t => {
    const first = await realDaemon(t)
    const at = (name: string) => join(first.dir, name)
    const start = (name: string, command: string, more: object = {}) =>
      ask(first.url, 'POST', '/process', { name, command, ...more })
    const wait = (name: string) => `until [ -e ${at(name)} ]; do sleep 0.02; done`
    const { body: loud } = await start('loud', `echo up; ${wait('go')}; echo down; exec sleep 300`)
    await start('done', 'echo done; exit 5', { waitForCompletion: true })
    await start('meanwhile', `${wait('gone')}; echo wrote; exit 3`)
    await start('kept', 'exec sleep 300', { keepAlive: true, timeout: 0 })
    await start('again', `echo run; ${wait('fail')}; [ -e ${at('once')} ] && exit 0; touch ${at('once')}; exit 1`, {
      restartOnFailure: true,
      maxRestarts: 2,
    })
    await start('fed', 'cat', { stdin: true })
    await start('half-fed', 'cat; exec sleep 300', { stdin: true })
    await until('its first line', async () => (await ask(first.url, 'GET', '/process/loud')).body.stdout === 'up\n')
    const pids = ((await ask(first.url, 'GET', '/process')).body as { name: string; pid: string }[]).map(
      ({ pid }) => pid,
    )
    await first.kill()
    // One ends while nobody looks.
    writeFileSync(at('gone'), '')
    await until('its end', () => /^(gone|.*\) [ZX] )/.test(stat(pids[2] ?? '')))

    const second = await first.next()
    const get = async (name: string) => (await ask(second.url, 'GET', `/process/${name}`)).body
    const list = (await ask(second.url, 'GET', '/process')).body as { name: string; pid: string }[]
    t.same(
      list.map(({ pid }) => pid),
      pids,
      'all of them, once, by the same pids',
    )
    t.match(await get('loud'), { pid: loud.pid, status: 'running' })
    t.match(await get('done'), { status: 'failed', exitCode: 5, stdout: 'done\n' })
    // Where its new parent leaves it a zombie, that is seen within a second.
    const meanwhile = await until('its end', async () => {
      const body = await get('meanwhile')
      return body.status !== 'running' && body
    })
    t.match(meanwhile, { status: 'failed', exitCode: -1, stdout: 'wrote\n' }, 'its code died with its parent')
    t.match((await ask(second.url, 'GET', '/system/activity')).body, { keepAlive: 1 })

    const lines = await openGet(t, `${second.url}/process/loud/logs/stream`)
    writeFileSync(at('go'), '')
    await lines.seen(/stdout:up\nstdout:down\n/)
    t.equal((await ask(second.url, 'DELETE', `/process/${loud.pid}`)).status, 200)
    // No child of this daemon: it is looked at once a second.
    await until('its end', async () => (await get('loud')).status === 'stopped')
    t.match((await ask(second.url, 'DELETE', '/process/kept/kill')).body, { message: /killed successfully/ })
    await until('its release', async () => (await ask(second.url, 'GET', '/system/activity')).body.keepAlive === 0)

    const fed = await until('its end of input', async () => {
      const body = await get('fed')
      return body.status !== 'running' && body
    })
    t.match(fed, { stdout: '' }, 'its input ended with the daemon that held it')
    const late = await fetch(`${second.url}/process/half-fed/stdin`, { method: 'POST', body: 'x' })
    t.match([late.status, await late.text()], [409, /closed since its daemon was killed/])

    writeFileSync(at('fail'), '')
    const again = await until('its end', async () => {
      const body = await get('again')
      return body.status !== 'running' && body
    })
    t.match(again, { status: 'completed', restartCount: 1, exitCode: 0, stdout: /^run\n[^]*restart 1\/2[^]*\nrun\n$/ })
  },
)
