import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { applyTheme } from './shell/theme.js';
import '@fontsource/ibm-plex-mono/latin-400.css';
import '@fontsource/ibm-plex-sans/latin-400.css';
import '@fontsource/ibm-plex-sans/latin-500.css';
import '@fontsource/ibm-plex-sans/latin-600.css';
import './styles/tokens.css';
import './styles/base.css';
import './styles/frame.css';
import './styles/parts.css';
import './styles/screens.css';

applyTheme();
const place = document.getElementById('console');
if (place === null) throw new Error('the page has no place for the console');
createRoot(place).render(<App />);
