import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { BrowserRouter, Navigate, Outlet, Route, Routes } from 'react-router';
import { ApiError } from './api/client.js';
import { liveState, pollEveryMs } from './api/live.js';
import { callbackPath } from './api/oidc.js';
import { onSignOut, useToken } from './api/session.js';
import { Teach } from './parts/small.js';
import { AuditScreen } from './screens/audit.js';
import { BatchScreen } from './screens/batches/batch.js';
import { BatchesScreen } from './screens/batches/batches.js';
import { DraftScreen } from './screens/batches/draft.js';
import { CorrectionScreen } from './screens/corrections/correction.js';
import { CorrectionsScreen } from './screens/corrections/corrections.js';
import { DestinationsScreen } from './screens/destinations/destinations.js';
import { ErasureScreen } from './screens/erasure.js';
import { ErasuresScreen } from './screens/erasures.js';
import { LeadScreen } from './screens/lead/lead.js';
import { MeScreen } from './screens/me.js';
import { OverviewScreen } from './screens/overview/overview.js';
import { QueuesScreen } from './screens/queues/queues.js';
import { ReconciliationScreen } from './screens/reconciliation/reconciliation.js';
import { SearchScreen } from './screens/search.js';
import { SignedInScreen, SignInScreen } from './screens/sign-in.js';
import { Frame } from './shell/frame.js';

/** While changes are told, what is on the screen is asked again only now and then, in case one was missed. */
const reassureMs = 60_000;

/** A refusal stays one; only what did not answer is asked again. */
const again = (count: number, error: Error): boolean =>
  count < 2 && error instanceof ApiError && (error.status === 0 || error.status === 503);

const client = new QueryClient({
  defaultOptions: {
    queries: { retry: again, staleTime: 1_000, refetchInterval: () => (liveState() === 'live' ? reassureMs : pollEveryMs) },
  },
});

// Nothing that one person has seen is left for the next. Before the sign-in page asks for anything, so that its own question is not forgotten too.
onSignOut(() => client.clear());

function SignedInOnly() {
  const token = useToken();
  return token === null ? <SignInScreen /> : <Outlet key={token} />;
}

export function App() {
  return (
    <Providers>
      <Routes>
        <Route path={callbackPath} element={<SignedInScreen />} />
        <Route element={<SignedInOnly />}>
          <Route element={<Frame />}>
            <Route index element={<OverviewScreen />} />
            <Route path="search" element={<SearchScreen />} />
            <Route path="leads/:eventId" element={<LeadScreen />} />
            <Route path="queues" element={<Navigate to="/queues/dead" replace />} />
            <Route path="queues/:tab" element={<QueuesScreen />} />
            <Route path="batches" element={<BatchesScreen />} />
            <Route path="batches/new" element={<DraftScreen />} />
            <Route path="batches/:batchId" element={<BatchScreen />} />
            <Route path="destinations" element={<DestinationsScreen />} />
            <Route path="reconciliation" element={<Navigate to="/reconciliation/discrepancies" replace />} />
            <Route path="reconciliation/:tab" element={<ReconciliationScreen />} />
            <Route path="erasures" element={<ErasuresScreen />} />
            <Route path="erasures/:erasureId" element={<ErasureScreen />} />
            <Route path="corrections" element={<CorrectionsScreen />} />
            <Route path="corrections/:correctionId" element={<CorrectionScreen />} />
            <Route path="audit" element={<AuditScreen />} />
            <Route path="me" element={<MeScreen />} />
            <Route path="*" element={<Nowhere />} />
          </Route>
        </Route>
      </Routes>
    </Providers>
  );
}

function Providers({ children }: { children: ReactNode }) {
  return (
    <QueryClientProvider client={client}>
      <BrowserRouter>{children}</BrowserRouter>
    </QueryClientProvider>
  );
}

function Nowhere() {
  return (
    <Teach title="There is no screen at this address">
      <p>
        Press <kbd>g</kbd> and a letter, or take a place from the left. A lead is found with the box above.
      </p>
    </Teach>
  );
}
