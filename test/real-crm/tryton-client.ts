type Row = Record<string, unknown>;

/** Somebody who works in Tryton by hand. */
export interface TrytonClient {
  readonly userId: number;
  readonly context: Row;
  /** A remote call, with the user's context behind the parameters. @throws what the server says */
  call<R = unknown>(method: string, params: readonly unknown[], context?: Row): Promise<R>;
  /** Goes through a wizard: what its first form says, then one of its steps. @throws what the server says */
  wizard(name: string, form: Row, step: string): Promise<void>;
}

/** Logs in. @throws when the server does not take the user */
export async function trytonClient(url: string, { user, password }: { user: string; password: string }): Promise<TrytonClient> {
  const [userId, session] = await rpc<[number, string]>(url, { method: 'common.db.login', params: [user, { password }, 'en'] });
  const authorization = `Session ${Buffer.from(`${user}:${userId}:${session}`).toString('base64')}`;
  const preferences = await rpc<Row>(url, { method: 'model.res.user.get_preferences', params: [true, {}], authorization });
  const ask = <R>(method: string, params: readonly unknown[], context?: Row): Promise<R> =>
    rpc(url, { method, params: [...params, { ...preferences, ...context }], authorization });
  return {
    userId,
    context: preferences,
    call: (method, params, context) => ask(`model.${method}`, params, context),
    wizard: async (name, form, step) => {
      const [session, start] = await ask<[number, string]>(`wizard.${name}.create`, []);
      await ask(`wizard.${name}.execute`, [session, { [start]: form }, step]);
      await ask(`wizard.${name}.delete`, [session]);
    },
  };
}

interface Call {
  method: string;
  params: readonly unknown[];
  authorization?: string;
}

async function rpc<R>(url: string, { method, params, authorization }: Call): Promise<R> {
  const headers = { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ id: 1, method, params }) });
  if (!answer.ok) throw new Error(`${method} was answered ${answer.status}`);
  const { result, error } = (await answer.json()) as { result: R; error?: unknown };
  if (error !== undefined) throw new Error(`${method} was refused: ${JSON.stringify(error)}`);
  return result;
}
