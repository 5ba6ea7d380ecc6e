import { bearer, compatible } from './compatible.ts'
import { keyForm } from './provider.ts'

/** OpenAI, and with `baseUrl` every server that speaks its protocol: Ollama, vLLM, llama.cpp. */
export const openai = compatible({
  type: 'openai',
  label: 'OpenAI, or a server that speaks its protocol',
  base: 'https://api.openai.com/v1',
  headers: { ...bearer, 'OpenAI-Organization': '{{organization}}', 'OpenAI-Project': '{{project}}' },
  // A server of one's own may want none.
  form: keyForm(
    [
      { name: 'organization', label: 'Organization', required: false },
      { name: 'project', label: 'Project', required: false },
    ],
    false,
  ),
  verified: 'client',
})
