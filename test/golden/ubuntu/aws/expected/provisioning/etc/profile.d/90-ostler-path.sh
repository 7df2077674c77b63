export PATH="/opt/bin:$PATH"
