/** A whole server in a virtual machine, under systemd with the unit that `hutch service` writes. */
import { setTimeout } from 'node:timers/promises'
import type { Vm } from './vm.ts'

export interface Answer {
  readonly status: number
  // Untyped on purpose: tests look at single fields.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

export interface VmServer {
  call(method: string, path: string, body?: unknown): Promise<Answer>
  /** Polls a sandbox until its record is so; throws after `timeoutS`. */
  until(name: string, look: (answer: Answer) => boolean, timeoutS?: number): Promise<Answer>
  /** Runs a command in a sandbox and answers what it said; throws when it did not run. */
  exec(name: string, command: string): Promise<string>
  /** Polls a command of the machine's until what it says matches; throws after `timeoutS`. */
  said(command: string, pattern: RegExp, timeoutS?: number): Promise<string>
  /** Waits until it answers, as after a reset. */
  up(): Promise<void>
}

const address = 'http://127.0.0.1:8090'
const pauseMs = 1_000

/** Installs it, with its data in `dataDir`, and starts it. */
export const serveIn = async (vm: Vm, dataDir: string, env: Readonly<Record<string, string>>): Promise<VmServer> => {
  const said: VmServer['said'] = async (command, pattern, timeoutS = 300) => {
    for (let left = timeoutS; ; left--) {
      const { out } = await vm.run(command)
      if (pattern.test(out)) return out
      if (left <= 0) throw new Error(`${command} goes on saying ${out.slice(-1_000)}`)
      await setTimeout(pauseMs)
    }
  }
  const call: VmServer['call'] = async (method, path, body) => {
    const sent = body === undefined ? '' : `-H 'content-type: application/json' --data-binary @-`
    const curl = `curl -s -X ${method} ${sent} -H "authorization: Bearer $(cat ${dataDir}/admin-key)" -H 'svc-version: 2026-04-28'`
    const input = Buffer.from(JSON.stringify(body ?? null)).toString('base64')
    const { out } = await vm.run(`base64 -d <<<${input} | ${curl} -m 200 -w '\\n%{http_code}' '${address}${path}'`, 240)
    const end = out.lastIndexOf('\n')
    const text = out.slice(0, Math.max(0, end))
    const status = Number(out.slice(end + 1))
    if (Number.isNaN(status)) throw new Error(`${method} ${path} was answered with ${out.slice(0, 2_000)}`)
    return {
      status,
      body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text,
    }
  }
  const up = async (): Promise<void> =>
    void (await said(`curl -s -o /dev/null -w '%{http_code}' ${address}/healthz`, /^200$/))
  const variables = Object.entries({ HUTCH_DATA_DIR: dataDir, HUTCH_PORT: '8090', ...env })
  const unit = '/etc/systemd/system/hutch.service'
  const set = variables.map(([name, value]) => `${name}=${value}`).join(' ')
  const { out, code } = await vm.run(
    `${set} node control/main.ts service ${unit} && systemctl daemon-reload && systemctl -q enable --now hutch`,
  )
  if (code !== 0) throw new Error(out)
  await up()
  return {
    call,
    said,
    up,
    async until(name, look, timeoutS = 300) {
      for (let left = timeoutS; ; left--) {
        const answer = await call('GET', `/v0/sandboxes/${name}`)
        if (look(answer)) return answer
        if (left <= 0) throw new Error(`${name} stays ${JSON.stringify(answer).slice(0, 1_000)}`)
        await setTimeout(pauseMs)
      }
    },
    async exec(name, command) {
      const asked = { command, waitForCompletion: true, timeout: 120 }
      const { body } = await call('POST', `/default/sandboxes/${name}/process`, asked)
      if (body.logs === undefined) throw new Error(JSON.stringify(body).slice(0, 1_000))
      return body.logs
    },
  }
}
